"""The strategies of newel: drop what was read again, clear what is old, clamp what is recent, and summarise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from newel.flows.context_budget.kinds import OldResult, Replacement
from newel_kernel import Json

_as_json = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str).encode
_HOW = "call read_result with id {handle!r} to read it again"
Shorten = Callable[[Sequence[OldResult]], Iterator[Replacement]]


def drop(results: Sequence[OldResult]) -> Iterator[Replacement]:
    """Of equal results of equal calls, all but the last."""
    latest: dict[tuple[str | None, str], OldResult] = {}
    for result in results:
        if result.shortened_by:
            continue
        key = result.call.name, _as_json(result.call.args)
        before, latest[key] = latest.get(key), result
        if before is not None and _as_json(before.response.response) == _as_json(result.response.response):
            note = f"cleared, since the same call was made again later, with the same result; {_how(before)}"
            yield Replacement(before, {"cleared": note})


def clearing(keep: int) -> Shorten:
    """Clears the results that are older than the last `keep` requests for tools."""

    def clear(results: Sequence[OldResult]) -> Iterator[Replacement]:
        for result in results:
            if result.age > keep:
                steps = f"{result.age} steps" if result.age != 1 else "one step"
                size = f"{result.characters:,} characters"
                yield Replacement(result, {"cleared": f"a result of {size}, {steps} after it came; {_how(result)}"})

    return clear


def clamping(characters: int) -> Shorten:
    """Shows of each longer result that is whole its beginning and its end."""

    def clamp(results: Sequence[OldResult]) -> Iterator[Replacement]:
        for result in results:
            if not result.shortened_by and result.characters > 2 * characters:
                yield Replacement(result, _clamped(result, characters))

    return clamp


def _clamped(result: OldResult, characters: int) -> Json:
    text = text_of(result.response.response)
    half = characters // 2
    missing = f"{len(text) - 2 * half:,} characters between are left out; {_how(result)}"
    return {"beginning": text[:half], "cleared": missing, "end": text[-half:]}


def text_of(response: Json | None) -> str:
    """A result as a text: its only text, or the result as JSON."""
    value = response or {}
    if len(value) == 1 and isinstance(text := next(iter(value.values())), str):
        return text
    return json.dumps(value, ensure_ascii=False, default=str)


def _how(result: OldResult) -> str:
    return _HOW.format(handle=result.handle)
