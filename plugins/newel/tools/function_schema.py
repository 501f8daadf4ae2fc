"""The declaration of a function tool: the JSON schema of its parameters."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping
from typing import Any, Optional, get_args

from pydantic import ConfigDict, Field, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError

from newel.tools.annotations import EMPTY
from newel.tools.function_signature import Parameter, Shape
from newel_kernel import ConfigurationError, Json

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
#: Types whose values are JSON already, except NaN and the infinities.
_ATOMS = (str, int, float, bool)
#: Stands for further keywords while a schema is made; no parameter can have this name.
_FURTHER = "**"
#: The errors of pydantic for an annotation that has no JSON form.
_UNKNOWN = (PydanticSchemaGenerationError, PydanticUserError, TypeError, ValueError)


def parameters_schema(name: str, shape: Shape, descriptions: Mapping[str, str], *, whole: bool) -> Json | None:
    """The JSON schema of the parameters that a model fills, or None if there are none.

    A parameter with a default whose annotation has no JSON form is left out: only the function's own code sets it.
    `whole`: a parameter whose default is None may be null, further keywords are declared, `descriptions` are put in.
    """
    if not shape.parameters and shape.further is None:
        return None
    parameters = {n: _with_null(p) if whole else p for n, p in shape.parameters.items()}
    properties: Json = {n: _plain_property(p) for n, p in parameters.items()}
    further: object = None
    definitions: Json = {}
    if shape.further is not None or any(prop is None for prop in properties.values()):
        properties, further, definitions = _generated(name, parameters, shape.further)
    if not properties and further is None:
        return None
    for parameter, text in descriptions.items():
        if parameter in properties:
            properties[parameter] = {"description": text, **properties[parameter]}
    schema: Json = {"type": "object", "properties": properties}
    if mandatory := shape.mandatory:
        schema["required"] = mandatory
    if further is not None:
        schema["additionalProperties"] = further
    if definitions:
        schema["$defs"] = definitions
    return schema


def _with_null(parameter: Parameter) -> Parameter:
    """``count: int = None`` takes None, as its writer meant."""
    hint = parameter.hint
    if parameter.default is not None or hint in (Any, object, None) or type(None) in get_args(hint):
        return parameter
    return Parameter(Optional[hint], None, parameter.mandatory, parameter.fill)  # noqa: UP045 - `|` takes fewer


def _plain_property(parameter: Parameter) -> Json | None:
    """The schema of a primitive parameter, at a fiftieth of the cost of asking pydantic; None for others."""
    try:
        plain = _PLAIN.get(parameter.hint)
    except TypeError:
        return None
    if plain is None or parameter.default is EMPTY:
        return None if plain is None else dict(plain)
    default = parameter.default
    plainly = type(default) in _ATOMS or (type(default) is list and all(type(item) in _ATOMS for item in default))
    return {**plain, "default": copy.copy(default)} if plainly and _is_json(default) else None


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):  # ValueError: not a JSON number, or not UTF-8 text
        return False
    return True


class _Generator(GenerateJsonSchema):
    """Leaves out what JSON cannot say, a default or a branch of a union, without a warning about it."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as pydantic declares it

    def encode_default(self, dft: Any) -> Any:
        try:
            encoded = super().encode_default(dft)
        except ValueError as error:  # bytes that are not text
            raise PydanticSerializationError(str(error)) from error
        if not _is_json(encoded):
            raise PydanticSerializationError(f"{encoded!r} is not JSON")
        return encoded


def _generated(name: str, parameters: Mapping[str, Parameter], further: Any) -> tuple[Json, object, Json]:
    """Each parameter's schema, that of further keywords, and the definitions they refer to."""
    try:
        schema = _schema_of(name, parameters, further)
    except _UNKNOWN:
        schema = _schema_of(name, _describable(name, parameters), None if further is None else Any)
    properties = schema["properties"]
    return properties, properties.pop(_FURTHER, None), schema.get("$defs", {})


def _schema_of(name: str, parameters: Mapping[str, Parameter], further: Any) -> Json:
    fields: Json = {f"p_{index}": _field(n, p) for index, (n, p) in enumerate(parameters.items())}
    if further is not None:
        fields["further"] = further, Field(alias=_FURTHER)
    model: Any = create_model(f"{name}_parameters", __config__=ConfigDict(arbitrary_types_allowed=False), **fields)
    schema: Json = without_titles(model.model_json_schema(schema_generator=_Generator))
    schema.setdefault("properties", {})
    return schema


def _field(name: str, parameter: Parameter) -> tuple[Any, FieldInfo]:
    default = parameter.default
    return parameter.hint, Field(alias=name) if default is EMPTY else Field(default=default, alias=name)


def _describable(name: str, parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The parameters that have a schema; an error lists the mandatory ones that have none."""
    result, problems = {}, []
    for parameter, what in parameters.items():
        try:
            _schema_of(name, {parameter: what}, None)
        except _UNKNOWN as error:
            if what.mandatory:
                type_name = getattr(what.hint, "__qualname__", None) or repr(what.hint)
                problems.append(f"{parameter}: {type_name} ({str(error).splitlines()[0].partition('. ')[0]})")
        else:
            result[parameter] = what
    if problems:
        raise ConfigurationError(
            f"the tool {name!r} cannot be described to a model: {'; '.join(problems)}; "
            f"annotate its parameters with types that pydantic can make from JSON, or give them defaults"
        )
    return result


def without_titles(schema: Any, names: bool = False) -> Any:
    """`schema` without pydantic's generated titles and without infinite bounds, which are not JSON.

    Under `names`, keys are names and not keywords.
    """
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: value
        if key in ("default", "const", "enum", "examples") and not names
        else without_titles(value, names=key in ("properties", "$defs") and not names)
        for key, value in schema.items()
        if names or not ((key == "title" and isinstance(value, str)) or _is_endless(value))
    }


def _is_endless(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
