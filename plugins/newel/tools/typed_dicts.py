"""Replaces the standard library's typed dicts, which pydantic accepts only from Python 3.12 on, with ones it takes."""

from __future__ import annotations

import sys
import types
import typing
from typing import Any, NotRequired, Required, get_args

import typing_extensions

_OLD = sys.version_info < (3, 12)


def portable(hint: Any) -> Any:
    """`hint` with each typed dict in it replaced by one with the same fields that pydantic accepts."""
    return _replaced(hint, {}) if _OLD else hint


def fields_of(hint: Any) -> dict[str, tuple[Any, bool]] | None:
    """Of ``Unpack[SomeTypedDict]``: each key with its annotation, and whether it is required. Else None."""
    if _origin(hint) is not typing.Unpack or not typing_extensions.is_typeddict(get_args(hint)[0]):
        return None
    return _fields(get_args(hint)[0])


def _origin(hint: object) -> object:
    return typing.get_origin(hint)


def _fields(cls: Any) -> dict[str, tuple[Any, bool]]:
    fields = {}
    for key, hint in typing_extensions.get_type_hints(cls, include_extras=True).items():
        needed = key in cls.__required_keys__
        while (origin := _origin(hint)) in (Required, NotRequired, typing_extensions.ReadOnly):
            needed = needed if origin is typing_extensions.ReadOnly else origin is Required
            hint = get_args(hint)[0]
        fields[key] = hint, needed
    return fields


def _replaced(hint: Any, done: dict[Any, Any]) -> Any:
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
        return _twin(hint, done) if type(hint).__module__ == "typing" and typing_extensions.is_typeddict(hint) else hint
    args = get_args(hint)
    new = tuple(_replaced(arg, done) for arg in args)
    if all(one is other for one, other in zip(args, new, strict=True)):
        return hint
    if isinstance(hint, types.UnionType):
        return typing.Union[new]  # noqa: UP007 - made of a tuple
    if _origin(hint) is typing.Annotated:
        return typing.Annotated[(new[0], *hint.__metadata__)]
    return hint.copy_with(new) if hasattr(hint, "copy_with") else typing.get_origin(hint)[new]


def _twin(cls: Any, done: dict[Any, Any]) -> Any:
    if cls in done:
        return done[cls]
    fields = _fields(cls)
    kinds = {key: Required[Any] if needed else NotRequired[Any] for key, (_, needed) in fields.items()}
    twin = done[cls] = typing_extensions.TypedDict(cls.__name__, kinds)  # type: ignore[operator]
    twin.__module__, twin.__qualname__, twin.__doc__ = cls.__module__, cls.__qualname__, cls.__doc__
    for key, (hint, needed) in fields.items():  # only now: a typed dict may hold itself
        inner = _replaced(hint, done)
        twin.__annotations__[key] = Required[inner] if needed else NotRequired[inner]
    return twin
