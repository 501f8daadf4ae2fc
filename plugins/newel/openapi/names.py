"""Names: what operations and arguments are called towards the model, made of the document's names."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from newel.models.wire.names import apart, legal

_MOST = 60
_LEGAL = re.compile(r"[A-Za-z0-9_]")
_KEPT = re.compile(r"[A-Za-z0-9_.-]")
_OTHER = re.compile(r"[^A-Za-z0-9]+")


def snake_case(name: str) -> str:
    """`name` in lower case, with _ between its words: ``X-List`` and ``xList`` are ``x_list``."""
    return _OTHER.sub("_", apart(name, "_")).strip("_").lower()


def tool_name(text: str) -> str:
    """The name of an operation's tool, at most 60 characters; it begins with a letter."""
    name = snake_case(text) or "operation"
    if not name[0].isalpha():
        name = f"op_{name}"
    return legal(name, _MOST, _LEGAL)


def argument_names(names: Iterable[str], *, preserve: bool) -> list[str]:
    """What the arguments are called, in order: unique, and fit for any service of models."""
    chosen: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for original in names:
        name = base = _argument_name(original, preserve)
        while name in chosen:
            number = numbers.get(base, 0)
            name, numbers[base] = legal(f"{base}_{number}", _MOST, _KEPT), number + 1
        chosen[name] = None
    return list(chosen)


def _argument_name(original: str, preserve: bool) -> str:
    if preserve:
        return legal(original, _MOST, _KEPT)
    name = snake_case(original) or "value"
    if keyword.iskeyword(name):
        name = f"param_{name}"
    return legal(name if name[0].isalpha() else f"n_{name}", _MOST, _LEGAL)
