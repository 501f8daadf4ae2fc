"""Truths: pydantic takes a number or a text for `true` and `false`, and these for a number; a body may not."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic.alias_generators import to_camel

from newel.server.refusals import Refusal

_Place = tuple[str | int, ...]
_NUMBER = {"type": "number_type", "msg": "a number is needed, not true or false"}
_TRUTH = {"type": "bool_type", "msg": "true or false is needed, not a number or a text"}
_NUMBERS = (int, float)
_LEAVES = (int, float, str)


def check_truths(sent: object, read: object) -> None:
    """Raise a Refusal if `read`, which was made of the JSON value `sent`, has a number for a `true`, or the reverse."""
    wrong: list[dict[str, Any]] = []
    _compare(sent, read, ("body",), wrong)
    if wrong:
        raise Refusal(422, wrong)


def _compare(sent: Any, read: Any, place: _Place, wrong: list[dict[str, Any]]) -> None:
    kind = read.__class__
    if sent.__class__ is bool:
        if kind in _NUMBERS:
            wrong.append({**_NUMBER, "loc": place})
    elif sent.__class__ in _LEAVES:
        if kind is bool and sent != "":  # pydantic itself makes nothing of that: the field has a rule of its own
            wrong.append({**_TRUTH, "loc": place})
    elif isinstance(sent, dict):
        for key, value in sent.items():
            part = read.get(key) if kind is dict else getattr(read, _field(kind, key), None)
            if part is not None:
                _compare(value, part, (*place, key), wrong)
    elif isinstance(sent, list) and isinstance(read, (list, tuple)):
        for index, (value, part) in enumerate(zip(sent, read, strict=False)):
            _compare(value, part, (*place, index), wrong)


def _field(kind: type, name: str) -> str:
    return _fields(kind).get(name, name)


@cache
def _fields(kind: type) -> dict[str, str]:
    """The fields of a class, by the names that they have on the wire."""
    if (fields := getattr(kind, "model_fields", None)) is not None:
        return {field.alias: name for name, field in fields.items() if field.alias}
    return {to_camel(name): name for name in getattr(kind, "field_names", ())}
