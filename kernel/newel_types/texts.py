"""Texts that every store and provider takes: without lone surrogates, the halves of characters that were cut in two."""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticSerializationError, to_json


def well_formed(value: Any) -> Any:
    """`value` itself, if it is well-formed; else a copy whose texts are: each half becomes U+FFFD.

    Halves that stand next to each other are joined, as JSON escapes them one by one. It looks into lists and dicts.
    """
    if value.__class__ is str:
        return value if value.isascii() else _joined(value)
    if value.__class__ is list or value.__class__ is dict:
        try:
            to_json(value, fallback=_anything)
        except (PydanticSerializationError, ValueError, RecursionError):
            return _mended(value, 0)
    return value


#: Deeper than any store goes: what is nested more deeply is refused there.
_DEEP = 200


def _mended(value: Any, depth: int) -> Any:
    if value.__class__ is str:
        return well_formed(value)
    if depth < _DEEP and value.__class__ is list:
        return [_mended(one, depth + 1) for one in value]
    if depth < _DEEP and value.__class__ is dict:
        return {_mended(key, depth + 1): _mended(one, depth + 1) for key, one in value.items()}
    return value


def _joined(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _anything(_: object) -> None:
    """What JSON has no form for is a store's concern."""
