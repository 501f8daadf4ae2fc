"""Plain data: values as JSON can hold them, within bounds."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

from newel.contexts.model_data import model_json
from newel_types import well_formed

MOST_DEPTH = 64
MOST_DIGITS = 4_000
#: A value that shares its parts is small as an object but may be endless as data, so depth alone is not a bound.
MOST_VALUES = 200_000
_LARGEST = 10**MOST_DIGITS - 1
#: A dict of at most so many entries is looked at as a whole.
_FEW = 16
_TEXT = {str}


class NotPlainError(ValueError):
    """A value has no plain form."""


def plain(value: object, as_text: Callable[[set[str]], None] | None = None) -> object:
    """`value` as JSON data: models and dataclasses as dicts, sets as lists, bytes as base64, other objects as text.

    `as_text` gets the types of objects that have neither a plain form nor their own text.

    Raises NotPlainError for a value that is nested too deeply, holds itself or holds too much; errors of the value's
    own methods pass through.
    """
    if type(value) is str:
        return clean_text(value)
    if type(value) is dict and len(value) <= _FEW and _is_clean(value):
        return value.copy()
    maker = _Maker()
    data = maker.make(value, MOST_DEPTH)
    if maker.as_text and as_text is not None:
        as_text(maker.as_text)
    return data


def _is_clean(flat: dict[Any, Any]) -> bool:
    """Whether a dict holds texts alone, and these are plain already: most arguments and results of tools are such."""
    if not {*map(type, flat), *map(type, flat.values())} <= _TEXT:
        return False
    text = "".join([*flat, *flat.values()])
    return text.isascii() and "\x00" not in text


class _Maker:
    """Converts one value to plain data, and counts what is left of the allowance."""

    __slots__ = ("_allowance", "as_text")

    def __init__(self) -> None:
        self._allowance = MOST_VALUES
        #: The types of values that JSON has no form for, and that became text.
        self.as_text: set[str] = set()

    def make(self, value: object, depth: int) -> object:
        if type(value) is str:  # most values are
            return clean_text(value)
        if isinstance(value, Enum):
            value = value.value
        if value is None or isinstance(value, (str, int, float)):
            return _atom(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return base64.b64encode(bytes(value)).decode()
        if depth == 0:
            raise NotPlainError(f"it is nested deeper than {MOST_DEPTH} levels, or holds itself")
        return self._container(value, depth - 1)

    def _container(self, value: object, depth: int) -> object:
        if type(value) is dict or isinstance(value, Mapping):
            self._pay(len(value))
            return {_key(key): self.make(inner, depth) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            self._pay(len(value))
            return [self.make(inner, depth) for inner in value]
        if isinstance(value, (set, frozenset)):
            self._pay(len(value))
            return sorted((self.make(inner, depth) for inner in value), key=repr)
        if isinstance(value, BaseException):
            return {"error": f"{type(value).__name__}: {text_of(value)}"}
        return self._object(value, depth)

    def _object(self, value: object, depth: int) -> object:
        if isinstance(value, type):
            return text_of(value)
        if isinstance(value, BaseModel):
            return self.make(model_json(value), depth)
        dump = getattr(value, "model_dump", None)
        if callable(dump):
            return self.make(dump(), depth)
        fields = getattr(type(value), "__dataclass_fields__", None)
        if fields is not None:
            return {name: self.make(getattr(value, name), depth) for name in fields}
        if type(value).__str__ is object.__str__:  # a date or a path has a text of its own
            self.as_text.add(type(value).__name__)
        return text_of(value)

    def _pay(self, count: int) -> None:
        self._allowance -= count
        if self._allowance < 0:
            raise NotPlainError(f"it holds more than {MOST_VALUES} values")


def _atom(value: str | float | None) -> str | float | None:
    """A text, number, truth value or None, without what a subclass adds."""
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    return int(value) if -_LARGEST <= value <= _LARGEST else f"an integer of over {MOST_DIGITS} digits"


def _key(key: object) -> str:
    """A key as text; numbers as themselves, other objects by their `repr`."""
    if type(key) is str:
        return clean_text(key)
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return clean_text(key)
    if key is None or isinstance(key, (int, float)):
        return str(_atom(key))
    return clean_text(repr(key))


def text_of(value: object) -> str:
    """The clean `str` of any object, or a substitute if the object has none."""
    try:
        return clean_text(str(value))
    except Exception as error:  # noqa: BLE001 - a plugin boundary: a foreign __str__
        return f"<{type(value).__name__}, whose text cannot be had: {type(error).__name__}>"


def clean_text(text: str) -> str:
    """`text` as every store and provider takes it: lone surrogates and NUL become replacement characters."""
    if not text.isascii():
        text = well_formed(str.__str__(text))
    elif type(text) is not str:
        text = str.__str__(text)
    return text.replace("\x00", "\ufffd") if "\x00" in text else text
