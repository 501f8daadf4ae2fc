"""Output: an answer in a JSON schema, as the service's output format or as a tool that must be called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from newel.models.anthropic.media import Report
from newel.models.anthropic.tools import input_schema
from newel.models.contract import ModelCapabilities
from newel.models.json_schemas import Schema, json_schema, referred
from newel_kernel import Json
from newel_types import GenerateContentConfig

#: The tool whose arguments are the answer, for models without an output format.
TOOL = "final_answer"
#: The key of a list or a scalar in the object that the service wants.
_WRAPPED = "result"
_JSON_ONLY = "Answer with one value of JSON and nothing else: no words around it, no code fence."
_CALL_IT = f"Give your final answer by calling the tool {TOOL}."
#: Keywords that the service refuses in an output format.
_BOUNDS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "not",
    "if",
    "then",
    "else",
    "patternProperties",
    "propertyNames",
    "contains",
    "dependentRequired",
    "dependentSchemas",
)
_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"))
_BY_NAME, _LISTS = ("properties", "$defs"), ("anyOf", "allOf", "prefixItems")


@dataclass(frozen=True, slots=True)
class Output:
    """How the answer is requested, and how it is read."""

    #: For ``output_config.format``.
    format: Json | None = None
    #: The declaration of the tool that must be called.
    tool: Json | None = None
    wrapped: bool = False
    #: Sentences to add to the system instruction.
    instructions: tuple[str, ...] = ()

    def unwrapped(self, text: str) -> str:
        """The answer's text as the caller asked for it; a text that is cut short, or another object, is unchanged."""
        if not self.wrapped:
            return text
        try:
            value = json.loads(text)
        except ValueError:
            return text
        return _dumped(value[_WRAPPED]) if isinstance(value, dict) and _WRAPPED in value else text

    def of_call(self, args: Json) -> str:
        """The answer's text, from the arguments of the tool call."""
        return _dumped(args[_WRAPPED] if self.wrapped and _WRAPPED in args else args)


def output_of(config: GenerateContentConfig, capable: ModelCapabilities, report: Report) -> Output:
    """The form of answer that a request asks for."""
    source = config.response_json_schema if config.response_json_schema is not None else config.response_schema
    if source is None:
        return Output(instructions=(_JSON_ONLY,)) if config.response_mime_type == "application/json" else Output()
    schema, wrapped = _object(json_schema(source))
    if not capable.output_schema or not _fits(schema, schema, ()):
        declared, _ = input_schema(schema)
        tool = {"name": TOOL, "description": "Call this with your final answer.", "input_schema": declared}
        return Output(tool=tool, wrapped=wrapped, instructions=(_CALL_IT,))
    bounds: list[str] = []
    strict = _strict(schema, "the answer", bounds)
    if bounds:
        report("response_schema", "the service enforces no bounds in a response schema; the model reads them as text")
    hints = [f"In your answer: {'; '.join(texts)}."] if (texts := list(filter(None, bounds))) else []
    return Output(format={"type": "json_schema", "schema": strict}, wrapped=wrapped, instructions=tuple(hints))


def _object(schema: Schema) -> tuple[Schema, bool]:
    """An object schema, and whether it wraps `schema`, because that is not an object schema itself."""
    root = referred(schema, schema)
    if root.get("type") == "object" or "properties" in root:
        return {**root, **{key: schema[key] for key in ("$defs",) if key in schema}}, False
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    result: Schema = {"type": "object", "properties": {_WRAPPED: inner}, "required": [_WRAPPED]}
    return {**result, **({"$defs": schema["$defs"]} if "$defs" in schema else {})}, True


def _fits(schema: Schema, root: Schema, above: tuple[str, ...]) -> bool:
    """Whether the output format can say `schema`: no object with free keys, nothing that contains itself."""
    if isinstance(ref := schema.get("$ref"), str):
        return ref not in above and _fits(referred(schema, root), root, (*above, ref))
    kinds = schema.get("type")
    is_object = kinds == "object" or (isinstance(kinds, list) and "object" in kinds) or "properties" in schema
    if is_object and not (schema.get("properties") and schema.get("additionalProperties") in (None, False, True)):
        return False
    if not (schema.keys() & {"type", "enum", "const", "anyOf", "oneOf", "allOf"}) and not is_object:
        return False  # anything
    return all(_fits(inner, root, above) for inner in _within(schema))


def _within(schema: Schema) -> Iterator[Schema]:
    properties = schema.get("properties")
    yield from (inner for inner in (properties or {}).values() if isinstance(inner, dict))
    for key in (*_LISTS, "oneOf"):
        yield from (inner for inner in schema.get(key) or () if isinstance(inner, dict))
    if isinstance(schema.get("items"), dict):
        yield schema["items"]


def _strict(schema: Schema, place: str, bounds: list[str]) -> Schema:
    """`schema` without the bounds that the service refuses.

    They become the description if there is none yet, and `bounds` gets an empty text; otherwise `bounds` gets them.
    """
    result: Schema = {}
    lost_bounds: list[str] = []
    for key, value in schema.items():
        if key in _BY_NAME and isinstance(value, dict):
            result[key] = {name: _inner(child, name, bounds) for name, child in value.items()}
        elif key in (*_LISTS, "oneOf") and isinstance(value, list):
            result["anyOf" if key == "oneOf" else key] = [_inner(child, place, bounds) for child in value]
        elif key == "items":
            result[key] = _inner(value, f"each of {place}", bounds)
        elif (key == "minItems" and value in (0, 1)) or not _is_refused(key, value):
            result[key] = value
        else:
            lost_bounds.append(f"{key} {_dumped(value)}")
    if result.get("type") == "object" or "properties" in result:
        result["additionalProperties"] = False
    if lost_bounds:
        words = ", ".join(lost_bounds)
        is_free = "description" not in result and "$ref" not in result
        if is_free:
            result["description"] = words
        bounds.append("" if is_free else f"{place}: {words}")
    return result


def _inner(schema: object, place: str, bounds: list[str]) -> object:
    return _strict(schema, place, bounds) if isinstance(schema, dict) else schema


def _is_refused(key: str, value: object) -> bool:
    return key in _BOUNDS or (key == "format" and value not in _FORMATS)


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
