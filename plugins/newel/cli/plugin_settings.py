"""Plugin settings: what a distribution can set for each plugin, as the plugins' models declare it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from newel_compose import Composition
from newel_kernel import ConfigurationError, Json, did_you_mean

_FIELD = re.compile(r"    (\w+): ")
_COMMENT = "    #: "


def settings_of(composition: Composition, name: str | None) -> list[Json]:
    """Each setting of a plugin, or of all: its type, default, present value and description."""
    models = composition.settings
    if name is not None and name not in models:
        installed = [record.name for record in composition.plugins]
        if name in installed:
            raise ConfigurationError(f"the plugin {name!r} has no settings, or takes no part (see `newel plugins why`)")
        hint = did_you_mean(name, installed) or f" (plugins with settings: {', '.join(sorted(models))})"
        raise ConfigurationError(f"no plugin {name!r} is installed{hint}")
    names = sorted(models) if name is None else [name]
    return [row for plugin in names for row in _rows(plugin, models[plugin])]


def _rows(plugin: str, settings: BaseModel) -> Iterator[Json]:
    comments = comments_of(type(settings))
    for name, field in type(settings).model_fields.items():
        yield {
            "plugin": plugin,
            "setting": name,
            "type": type_name(field.annotation),
            "default": _default(field),
            "value": to_jsonable_python(getattr(settings, name), fallback=str),
            "description": field.description or comments.get(name, ""),
        }


def _default(field: FieldInfo) -> object:
    value = field.get_default(call_default_factory=True, validated_data={})
    return None if value is PydanticUndefined else to_jsonable_python(value, fallback=str)


def type_name(annotation: Any) -> str:
    """A type as it is written in code, without its bounds."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return type_name(arguments[0])
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin in (Union, UnionType):
        return " or ".join(map(type_name, arguments))
    if origin is not None:
        return f"{type_name(origin)}[{', '.join(map(type_name, arguments))}]"
    return "None" if annotation is NoneType else getattr(annotation, "__name__", str(annotation))


def comments_of(model: type) -> dict[str, str]:
    """The comments before the fields of a class that describe them: lines that begin with ``#:``."""
    comments: dict[str, str] = {}
    for kind in reversed(model.__mro__):
        values: list[str] = []
        for line in () if kind in (BaseModel, object) else _source(kind):
            if line.startswith(_COMMENT):
                values.append(line.removeprefix(_COMMENT).strip())
            elif match := _FIELD.match(line):
                comments[match[1]] = " ".join(values)
                values = []
            else:
                values = []
    return comments


@cache
def _source(kind: type) -> tuple[str, ...]:
    """The lines of a class. To find it, Python parses its whole file."""
    try:
        return tuple(inspect.getsource(kind).splitlines())
    except (OSError, TypeError):
        return ()
