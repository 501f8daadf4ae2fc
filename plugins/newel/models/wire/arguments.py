"""Arguments: the text that a model wrote for a tool, as a JSON object or not at all."""

from __future__ import annotations

import json
from typing import Any, NoReturn


class MalformedArgumentsError(ValueError):
    """The arguments of a call are not a JSON object; the text says why, for the model."""


def parse_arguments(text: str | None) -> dict[str, Any]:
    """The object that `text` spells. White space and ``null`` mean ``{}``; nothing is guessed or repaired."""
    if text is None or not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise MalformedArgumentsError(f"the arguments are not valid JSON: {error}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedArgumentsError(f"the arguments must be a JSON object, not {_kind(value)}")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a string", bool: "a boolean"}
    return next((words for kind, words in kinds.items() if isinstance(value, kind)), "a number")
