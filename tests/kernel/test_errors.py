"""The error tree is the one that is drawn."""

from __future__ import annotations

import re

from newel_kernel import NewelError
from newel_kernel._internal import errors


def drawn() -> set[tuple[str, str]]:
    """The pairs (error, parent) of the drawing."""
    path: list[str] = []
    pairs = set()
    for line in str(errors.__doc__).splitlines():
        match = re.match(r"([│├└─ ]*)(\w+Error)\b", line)
        if match is not None:
            depth = len(match[1]) // 4
            path[depth:] = [match[2]]
            if depth:
                pairs.add((match[2], path[depth - 1]))
    return pairs


def test_every_error_is_drawn_below_its_parents() -> None:
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, NewelError)]
    assert drawn() == {
        (one.__name__, base.__name__) for one in classes for base in one.__bases__ if issubclass(base, NewelError)
    }
