"""Plain data: values as JSON can hold them, within bounds."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

MOST_DEPTH = 64
MOST_DIGITS = 4_000
_ATOMS = (bool, type(None))


class Unplain(ValueError):
    """A value has no plain form."""


def plain(value: Any, depth: int = MOST_DEPTH) -> Any:
    """`value` as JSON data: models and dataclasses as dicts, sets as lists, bytes as base64, other objects as text.

    Raises Unplain for what is nested too deeply or holds itself.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, Enum):
        return plain(value.value, depth)
    if isinstance(value, int):
        return int(value) if -(10**MOST_DIGITS) < value < 10**MOST_DIGITS else f"an integer of over {MOST_DIGITS} digits"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    if depth == 0:
        raise Unplain(f"it is nested deeper than {MOST_DEPTH} levels, or holds itself")
    return _plain_container(value, depth - 1)


def _plain_container(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {clean_text(key if isinstance(key, str) else repr(key)): plain(v, depth) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, depth) for v in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(v, depth) for v in value), key=repr)
    if isinstance(value, BaseException):
        return {"error": f"{type(value).__name__}: {clean_text(str(value))}"}
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return plain(dump(), depth)
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is not None:
        return {name: plain(getattr(value, name), depth) for name in fields}
    return clean_text(str(value))


def clean_text(text: str) -> str:
    """`text` as every store and provider takes it: lone surrogates and NUL become replacement characters."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
