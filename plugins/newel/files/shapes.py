"""Shapes in the JSON schema of agent files: how references, calls, nodes and edges are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from newel.tools.refinement import Refinement
from newel_kernel import Effect, Json
from newel_types import GenerateContentConfig

#: A part of a JSON schema.
Shape = Json

#: A name of the app's code.
DOTTED = r"^\.?[^\W\d_]\w*(\.[^\W\d_]\w*)+$"
_FILE = r"\.ya?ml$"
_VARIABLE = r"\$\{"
#: Fields that are set on the agent itself.
_NOT_ITS_OWN = ("tools", "system_instruction", "response_schema")


def ref(name: str) -> Shape:
    """A reference to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def several(shape: Shape) -> Shape:
    """A list of values of `shape`."""
    return {"type": "array", "items": shape}


def mapping(required: Iterable[str] = (), **properties: Shape) -> Shape:
    """A mapping with these keys and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def any_of(*shapes: Shape) -> Shape:
    """One of several shapes."""
    return {"anyOf": list(shapes)}


def code_of(names: list[str]) -> Shape:
    """Code by the name of an installed one or as module.attribute, alone or with arguments."""
    own = {"type": "string", "pattern": DOTTED}
    name = any_of({"enum": names}, own, ref("variable")) if names else any_of(own, ref("variable"))
    return any_of(name, mapping(["name"], name=name, args=ref("arguments")))


_SEARCHED: Shape = {
    "description": "Tools that the model is not told of until it searches for them.",
    **mapping(
        ["search"],
        search=several(ref("tool")),
        most={"type": "integer", "minimum": 1, "description": "How many tools a search finds; by default 5."},
        name={"type": "string", "description": "The name of the search; by default search_tools."},
    ),
}


def refinable(tool: Shape) -> Shape:
    """A tool, alone or with further settings."""
    texts = {key: field.description for key, field in Refinement.model_fields.items()}
    shapes: dict[str, Shape] = {
        "name": {"type": "string"},
        "require_confirmation": any_of({"type": "boolean"}, {"type": "string", "pattern": DOTTED}),
        "timeout": {"type": "number", "minimum": 0},
        "effect": {"enum": [effect.value for effect in Effect]},
    }
    options = {key: {**any_of(shape, ref("variable")), "description": texts[key]} for key, shape in shapes.items()}
    return any_of(*tool["anyOf"], mapping(["tool"], tool=any_of(*tool["anyOf"]), **options), _SEARCHED)


_TEXT = {"type": "string"}
_OPTIONS: dict[str, Shape] = {
    "rerun_on_resume": {"type": "boolean"},
    "retry_config": {"type": "object", "description": "The fields of a RetryConfig, such as max_attempts."},
    "timeout": {"type": "number"},
    "parallel_worker": {"type": "boolean"},
    "max_concurrency": {"type": "integer"},
    "max_parallel_workers": {"type": "integer"},
}
_ROUTE = any_of({"type": "boolean"}, {"type": "integer"}, _TEXT)
_ENDS = any_of(ref("node"), several(ref("node")))


def _subject(key: str, shape: Shape) -> Shape:
    return mapping([key], name=_TEXT, agent_class={"const": "FunctionNode"}, **{key: shape}, **_OPTIONS)


SHAPES: dict[str, Shape] = {
    "any": {},
    "text": _TEXT,
    "variable": {
        "description": "A text with environment variables.",
        "type": "string",
        "pattern": _VARIABLE,
    },
    "arguments": {
        "description": "The arguments of a call: a mapping, or a list of names and values.",
        **any_of({"type": "object"}, several(mapping(["value"], name={"type": ["string", "null"]}, value={}))),
    },
    "code": {"description": "module.attribute of the app's folder, alone or with arguments.", **code_of([])},
    "callbacks": any_of(ref("code"), several(ref("code"))),
    "tools": any_of(several(ref("tool")), _SEARCHED),
    "model": any_of(_TEXT, {"type": "object", **mapping(["name"], name=_TEXT, args=ref("arguments"))}),
    "content": any_of(_TEXT, mapping(["parts"], role=_TEXT, parts=several({"type": "object"}))),
    "schemaReference": any_of(
        ref("code"),
        {
            "description": "A JSON schema.",
            "type": "object",
            "anyOf": [{"required": [key]} for key in ("type", "properties", "$ref", "anyOf")],
        },
    ),
    "agentReference": {
        "description": "An agent: a file, relative to this one, or an agent of the app's code.",
        **any_of(
            {"type": "string", "pattern": _FILE},
            mapping(["config_path"], config_path={"type": "string", "pattern": f"{_FILE}|{_VARIABLE}"}),
            mapping(["code"], code={"type": "string", "pattern": f"{DOTTED}|{_VARIABLE}"}),
        ),
    },
    "agentReferences": several(ref("agentReference")),
    "ownAgent": {
        "description": "An agent of a class of the app, which knows its own fields.",
        "type": "object",
        "properties": {"name": _TEXT, "description": _TEXT},
        "required": ["agent_class", "name"],
    },
    "nodes": any_of({"type": "object", "additionalProperties": ref("node")}, several(ref("node"))),
    "node": {
        "description": "A node: its name, a function, a file, an installed tool, or a mapping.",
        **any_of(
            _TEXT,
            *(_subject(key, ref("code")) for key in ("function", "func", "func_code", "code")),
            _subject("config_path", {"type": "string", "pattern": f"{_FILE}|{_VARIABLE}"}),
            _subject("tool", ref("tool")),
            mapping(["agent_class"], agent_class={"const": "JoinNode"}, name=_TEXT, description=_TEXT, **_OPTIONS),
            {
                "description": "An agent, written out here.",
                "type": "object",
                "anyOf": [
                    {
                        "required": ["agent_class"],
                        "properties": {"agent_class": {"not": {"enum": ["JoinNode", "FunctionNode"]}}},
                    },
                    {"required": ["instruction"]},
                    {"required": ["model"]},
                    {"required": ["tools"]},
                ],
            },
        ),
    },
    "edges": several(
        any_of(
            {
                "description": "A chain.",
                **several(
                    any_of(
                        ref("node"),
                        {"description": "Nodes that run concurrently.", **several(ref("node"))},
                        {
                            "description": "Route: node; DEFAULT is for every other route.",
                            "type": "object",
                            "additionalProperties": _ENDS,
                        },
                    )
                ),
                "minItems": 2,
            },
            mapping(["from", "to"], **{"from": _ENDS, "to": _ENDS, "route": any_of(_ROUTE, several(_ROUTE))}),
            mapping(["from_node", "to_node"], from_node=_ENDS, to_node=_ENDS, route=any_of(_ROUTE, several(_ROUTE))),
        )
    ),
}


def generation_shapes() -> dict[str, Shape]:
    """The configuration of model calls and its parts, in both spellings, without what is set on the agent."""
    snake = GenerateContentConfig.model_json_schema(by_alias=False)
    camel = GenerateContentConfig.model_json_schema(by_alias=True)
    merged = _both(snake, camel)
    for field in _NOT_ITS_OWN:
        head, *tail = field.split("_")
        for key in (field, head + "".join(map(str.title, tail))):
            merged["properties"].pop(key, None)
    parts = {name: _both(part, camel["$defs"][name]) for name, part in merged.pop("$defs").items()}
    return {**parts, "generateContentConfig": merged}


def _both(snake: Shape, camel: Shape) -> Shape:
    if "enum" in snake:  # an unknown value is kept, and case does not count
        return {
            **{key: value for key, value in snake.items() if key not in ("enum", "type")},
            **any_of({"enum": snake["enum"]}, _TEXT),
        }
    if "properties" not in snake:
        return snake
    required = [key for key in snake.get("required", ()) if key in camel["properties"]]
    return {**snake, "properties": {**camel["properties"], **snake["properties"]}, "required": required}


def with_variables(schema: Shape) -> Shape:
    """`schema`, in which a number, a truth value or a choice may also be a variable: ``${NAME}``."""
    constants = ("enum", "const", "default", "examples", "required")
    shape: Shape = {key: value if key in constants else _each(value) for key, value in schema.items()}
    kind = shape.get("type")
    if kind in ("number", "integer", "boolean") or ("enum" in shape and kind == "string"):
        notes: Shape = {key: shape.pop(key) for key in ("default", "description", "title") if key in shape}
        return {**any_of(shape, ref("variable")), **notes}
    return shape


def _each(value: object) -> object:
    if isinstance(value, list):
        return [_each(item) for item in value]
    return with_variables(value) if isinstance(value, dict) else value


def prune(schema: Shape) -> Shape:
    """`schema`, with only the definitions that something refers to."""
    definitions = schema.pop("$defs")
    needed: set[str] = set()
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += _references(definitions[name])
    return {**schema, "$defs": {name: definitions[name] for name in sorted(needed)}}


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, list):
        for item in schema:
            yield from _references(item)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.rpartition("/")[2]
            else:
                yield from _references(value)
