"""The declaration of a function tool: JSON schema from its signature, words from its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

import docstring_parser
from pydantic import ConfigDict, Field, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from newel_kernel import ConfigurationError, Json, ReadonlyContext

#: Injected by name where no annotation says so.
CONTEXT_NAME = "tool_context"
STREAM_NAME = "input_stream"

_PLAIN: dict[object, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    list[str]: {"items": {"type": "string"}, "type": "array"},
    list[int]: {"items": {"type": "integer"}, "type": "array"},
    list[float]: {"items": {"type": "number"}, "type": "array"},
    list[bool]: {"items": {"type": "boolean"}, "type": "array"},
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of a function: the parameters that a model fills, and the one that gets the context."""

    parameters: Mapping[str, inspect.Parameter]
    hints: Mapping[str, object]
    context_name: str | None
    is_async: bool

    @property
    def mandatory(self) -> list[str]:
        """The parameters without a default."""
        return [name for name, p in self.parameters.items() if p.default is p.empty]


def shape_of(function: Callable[..., object]) -> Shape:
    """Read a function's signature; its context parameter is found by annotation, or by the name tool_context."""
    signature = inspect.signature(function)
    hints = _hints(function)
    context = next((n for n in signature.parameters if _is_context(hints.get(n))), None)
    if context is None and CONTEXT_NAME in signature.parameters:
        context = CONTEXT_NAME
    kinds = inspect.Parameter
    own = {
        name: parameter
        for name, parameter in signature.parameters.items()
        if name not in (context, STREAM_NAME) and parameter.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
    }
    call = getattr(function, "__call__", None)  # noqa: B004 - an object whose __call__ is a coroutine function
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
    return Shape(own, hints, context, is_async)


def _hints(function: Callable[..., object]) -> Json:
    target = function if hasattr(function, "__annotations__") else getattr(function, "__call__", function)  # noqa: B004
    try:
        return get_type_hints(target, include_extras=True)
    except (NameError, TypeError):
        # An annotation that exists for type checkers only; the signature still has its text.
        return dict(getattr(target, "__annotations__", {}))


def _is_context(hint: object) -> bool:
    options = get_args(hint) or (hint,)
    return any(isinstance(option, type) and issubclass(option, ReadonlyContext) for option in options)


def parameters_schema(name: str, shape: Shape, descriptions: Mapping[str, str]) -> Json | None:
    """The JSON schema of the parameters that a model fills, or None where there are none."""
    if not shape.parameters:
        return None
    properties = {n: _plain_property(p, shape.hints.get(n)) for n, p in shape.parameters.items()}
    definitions: Json = {}
    if any(prop is None for prop in properties.values()):
        generated = _generate(name, shape)
        properties, definitions = generated["properties"], generated.get("$defs", {})
    for parameter, text in descriptions.items():
        if parameter in properties:
            properties[parameter] = {"description": text, **(properties[parameter] or {})}
    schema: Json = {"type": "object", "properties": properties}
    if shape.mandatory:
        schema["required"] = shape.mandatory
    if definitions:
        schema["$defs"] = definitions
    return schema


def _plain_property(parameter: inspect.Parameter, hint: object) -> Json | None:
    """The schema of a primitive parameter, at a fiftieth of the cost of asking pydantic; None for others."""
    try:
        plain = _PLAIN.get(hint)
    except TypeError:
        return None
    if plain is None or parameter.default is parameter.empty:
        return None if plain is None else dict(plain)
    if not isinstance(hint, type) or not isinstance(parameter.default, hint):
        return None
    return {**plain, "default": parameter.default}


def _generate(name: str, shape: Shape) -> Json:
    fields: Json = {
        f"p_{index}": (
            shape.hints.get(n, Any),
            Field(alias=n) if p.default is p.empty else Field(default=p.default, alias=n),
        )
        for index, (n, p) in enumerate(shape.parameters.items())
    }
    try:
        model = create_model(f"{name}_parameters", __config__=ConfigDict(arbitrary_types_allowed=False), **fields)
        schema = model.model_json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError) as error:
        raise ConfigurationError(
            f"the tool {name!r} cannot be described to a model: {str(error).splitlines()[0]} "
            f"(annotate its parameters with types that pydantic knows)"
        ) from error
    untitled = without_titles(schema)
    assert isinstance(untitled, dict)
    return untitled


def without_titles(schema: Any, names: bool = False) -> Any:
    """`schema` without pydantic's generated titles; under `names`, keys are names and not keywords."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value if key in ("default", "const", "enum", "examples") and not names
        else without_titles(value, names=key in ("properties", "$defs") and not names)
        for key, value in schema.items()
        if names or key != "title" or not isinstance(value, str)
    }  # fmt: skip


def document(function: Callable[..., object]) -> str:
    """The whole docstring of a function, or of an object's ``__call__``."""
    text = getattr(function, "__doc__", None)
    if not text and not inspect.isroutine(function):
        text = type(function).__call__.__doc__
    return inspect.cleandoc(text) if text else ""


def split_document(text: str) -> tuple[str, dict[str, str]]:
    """A docstring as its prose and its parameters' descriptions."""
    parsed = docstring_parser.parse(text)
    described = {p.arg_name: p.description for p in parsed.params if p.description}
    if not described:
        return text, {}
    prose = "\n\n".join(filter(None, (parsed.short_description, parsed.long_description)))
    if parsed.returns and parsed.returns.description:
        prose = f"{prose}\n\nReturns: {parsed.returns.description}"
    return prose, described
