"""Environment variables in agent files: ``${NAME}`` in a value, and errors that do not reveal its value."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from newel.files.syntax import Steps
from newel_kernel import AgentConfigError

_REFERENCE = re.compile(r"\$(?:(?P<escaped>\$)(?=\{)|\{(?P<name>[^{}]*)\}|(?P<open>\{))")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: Shorter values are hardly secrets, and hiding them would garble every message.
_SHORTEST = 4
#: The shortest piece of a value that is hidden if a message shows the value cut short.
_PIECE = 8

Fault = Callable[[Steps, str], AgentConfigError]


def interpolate(value: object, steps: Steps, fault: Fault, used: dict[str, str]) -> object:
    """`value` with every ``${NAME}`` replaced by the variable; ``$${`` stands for ``${``.

    The variables that were read are added to `used`. A problem is raised as the error from `fault`.
    """
    if isinstance(value, dict):
        for key in value:
            if isinstance(key, str) and "${" in key:
                raise fault((*steps, key), f"the key {key!r} cannot hold a variable; only values can")
        return {key: interpolate(item, (*steps, str(key)), fault, used) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolate(item, (*steps, index), fault, used) for index, item in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value
    return _REFERENCE.sub(lambda match: _replacement(match, steps, fault, used), value)


def _replacement(match: re.Match[str], steps: Steps, fault: Fault, used: dict[str, str]) -> str:
    hint = "write ${NAME}, or $${ for the text ${"
    if match["escaped"]:
        return "$"
    if match["open"]:
        raise fault(steps, f"a reference ${{ has no closing }}; {hint}")
    name = match["name"]
    if not _NAME.fullmatch(name):
        raise fault(steps, f"{match[0]!r} is not a reference to an environment variable; {hint}")
    if name not in os.environ:
        hint = f"set it, or write $${{{name}}} for the text ${{{name}}}"
        raise fault(steps, f"the environment variable {name!r} is not set; {hint}")
    used[name] = os.environ[name]
    return used[name]


def mask(text: str, used: Mapping[str, str]) -> str:
    """`text` with ``${NAME}`` in place of the values of variables, and of longer pieces of them."""
    longest_first = sorted(used.items(), key=lambda entry: -len(entry[1]))
    for name, value in longest_first:
        for form in dict.fromkeys((value, repr(value)[1:-1], *value.splitlines())):
            if len(form.strip()) >= _SHORTEST:
                text = _without(text, form, f"${{{name}}}")
    return text


def _without(text: str, value: str, mask: str) -> str:
    """`text` without `value` and, if it is cut short (``sk-123...``), without the piece that is left."""
    text = text.replace(value, mask)
    for length in range(min(len(value) - 1, len(text)), _PIECE - 1, -1):
        text = text.replace(value[:length], mask).replace(value[-length:], mask)
    return text


def reveals(error: BaseException, used: Mapping[str, str]) -> bool:
    """Whether an error, or one of its causes, shows the value of a variable."""
    visited: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in visited:
            continue
        visited.add(id(one))
        if mask(str(one), used) != str(one):
            return True
        waiting += (one.__cause__, one.__context__)
    return False
