"""Arguments of a tool call that arrive in pieces, each placed by a JSON path (``$.city``, ``$.stops[0].name``)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from newel_kernel import ModelError
from newel_types import PartialArg

_STEP = re.compile(
    r"""
    \.?(?P<name>[^.\[\]'"]+)
    | \[(?P<index>\d+)\]
    | \['(?P<single>(?:[^'\\]|\\.)*)'\]
    | \["(?P<double>(?:[^"\\]|\\.)*)"\]
    """,
    re.VERBOSE,
)
#: How far beyond a list's end an index may point: the model may send elements out of order, but a stray
#: index must not allocate a list of its size.
_MAX_GAP = 1_000


def merge_pieces(arguments: dict[str, Any], pieces: Iterable[PartialArg]) -> None:
    """Write `pieces` into `arguments`; a string is appended to the string already at its path."""
    for piece in pieces:
        if piece.json_path:
            found, value = _value(piece)
            if found:
                _write(arguments, _steps(piece.json_path), value, piece.json_path)


def _value(piece: PartialArg) -> tuple[bool, Any]:
    """Whether `piece` holds a value, and the value."""
    if piece.string_value is not None:
        return True, piece.string_value
    if piece.number_value is not None:
        # The wire has one type of number; an argument that was written as an integer must arrive as one.
        number = piece.number_value
        return True, int(number) if number.is_integer() else number
    if piece.bool_value is not None:
        return True, piece.bool_value
    return piece.null_value is not None, None


def _steps(path: str) -> list[str | int]:
    """The keys and indexes of a JSON path; the leading ``$`` may be missing."""
    position = 1 if path.startswith("$") else 0
    steps: list[str | int] = []
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise ModelError(f"the model streamed an argument with the JSON path {path!r}, which cannot be read")
        position = match.end()
        if match["index"] is not None:
            steps.append(int(match["index"]))
        else:
            quoted = match["single"] if match["single"] is not None else match["double"]
            steps.append(match["name"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
    if not steps or not isinstance(steps[0], str):
        raise ModelError(f"the model streamed an argument with the JSON path {path!r}, which names no argument")
    return steps


def _write(arguments: dict[str, Any], steps: list[str | int], value: Any, path: str) -> None:
    place: Any = arguments
    for step, following in pairwise(steps):
        inner = _read(place, step, path)
        if inner is None:
            inner = [] if isinstance(following, int) else {}
            _store(place, step, inner)
        place = inner
    present = _read(place, steps[-1], path)
    if isinstance(value, str) and isinstance(present, str):
        value = present + value
    _store(place, steps[-1], value)


def _read(place: Any, step: str | int, path: str) -> Any:
    """What is at `step` of `place`, or None; `place` must be what the kind of `step` asks for."""
    if isinstance(step, str) and isinstance(place, dict):
        return place.get(step)
    if isinstance(step, int) and isinstance(place, list) and step <= len(place) + _MAX_GAP:
        return place[step] if step < len(place) else None
    raise ModelError(f"the model streamed an argument at {path!r}, which does not fit what it streamed before")


def _store(place: Any, step: str | int, value: Any) -> None:
    if isinstance(step, int):
        place.extend([None] * (step + 1 - len(place)))
    place[step] = value
