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

from newel_compose import Composition, setting_source, without_password
from newel_kernel import ConfigurationError, Json, did_you_mean
from newel_types import names_secret

_FIELD = re.compile(r"    (\w+): ")
_COMMENT = "    #: "
#: Names of settings that may hold a secret. More than `names_secret` says: to hide one too many does no harm here.
_MAY_BE_SECRET = re.compile("passw|secret|credential|(api|access|private|signing)_?key|^key$", re.IGNORECASE)


def settings_of(composition: Composition, name: str | None) -> list[Json]:
    """Each setting of a plugin, or of all: its type, default, present value, where that is from, and description.

    A value that may be a secret is not shown: one that stands elsewhere, and one whose name says so.
    """
    models = composition.settings
    if name is not None and name not in models:
        installed = [record.name for record in composition.plugins]
        if name in installed:
            raise ConfigurationError(f"the plugin {name!r} has no settings, or takes no part (see `newel plugins why`)")
        hint = did_you_mean(name, installed) or f" (plugins with settings: {', '.join(sorted(models))})"
        raise ConfigurationError(f"no plugin {name!r} is installed{hint}")
    names = sorted(models) if name is None else [name]
    return [row for plugin in names for row in _rows(composition, plugin, models[plugin])]


def _rows(composition: Composition, plugin: str, settings: BaseModel) -> Iterator[Json]:
    comments = comments_of(type(settings))
    for name, field in type(settings).model_fields.items():
        source, is_elsewhere = setting_source(composition.distribution, plugin, name)
        value = getattr(settings, name)
        is_hidden = is_elsewhere or (source != "default" and _may_be_secret(name, value))
        yield {
            "plugin": plugin,
            "setting": name,
            "type": type_name(field.annotation),
            "default": _default(field),
            "value": "***" if is_hidden else _plain(to_jsonable_python(value, fallback=str)),
            "source": source,
            "description": field.description or comments.get(name, ""),
        }


def _may_be_secret(name: str, value: object) -> bool:
    is_of_tokens = "token" in name.lower() and not isinstance(value, int | float)  # a number of tokens is a count
    return is_of_tokens or names_secret(name) or _MAY_BE_SECRET.search(name) is not None


def _plain(value: object) -> object:
    """A value; of an address, without its password."""
    return without_password(value) if isinstance(value, str) and "://" in value else value


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
