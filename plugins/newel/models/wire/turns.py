"""Turns: a history as most protocols want it: every call has its result, and results come before texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from newel.models.wire.names import CallIds, Names
from newel_kernel import Json
from newel_types import Content, Part

_UNANSWERED: Json = {"error": "the tool call has no result; whether it took effect is not known"}


@dataclass(slots=True)
class Call:
    """A call of the model, under the id and the name to send."""

    id: str
    name: str
    args: Json


@dataclass(slots=True)
class Result:
    """The result of a call."""

    id: str
    name: str
    response: Json
    #: Media within it.
    media: list[object] = field(default_factory=list)


@dataclass(slots=True)
class Turn:
    """The consecutive contents of one side. Thoughts are left out, because they belong to their provider."""

    role: Literal["user", "model"]
    #: In a user's turn, the results of the calls of the turn before; they come first.
    results: list[Result] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    #: Other parts: media, and code that the service ran.
    others: list[Part] = field(default_factory=list)


def turns_of(contents: Iterable[Content], names: Names, ids: CallIds) -> Iterator[Turn]:
    """The turns of a history, which alternate. Left out: blank texts, results without a call, calls of the user."""
    turn: Turn | None = None
    for content in contents:
        role: Literal["user", "model"] = "model" if content.role == "model" else "user"
        if turn is None or turn.role != role:
            yield from _whole(turn, names, ids)
            turn = Turn(role)
        for part in content.parts or ():
            _add(turn, part, names, ids)
    yield from _whole(turn, names, ids)
    if turn is not None and turn.role == "model":
        yield from _whole(Turn("user"), names, ids)


def _whole(turn: Turn | None, names: Names, ids: CallIds) -> Iterator[Turn]:
    """The turn, if it is not empty; a turn of the user answers every open call."""
    if turn is None:
        return
    if turn.role == "user":
        turn.results += [Result(sent, names.out(name), _UNANSWERED) for sent, name in ids.unanswered()]
    if turn.results or turn.texts or turn.calls or turn.others:
        yield turn


def _add(turn: Turn, part: Part, names: Names, ids: CallIds) -> None:
    if (response := part.function_response) is not None:
        sent = ids.result(response.id, response.name) if turn.role == "user" else None
        if sent is not None:
            media: list[object] = list(response.parts or ())
            turn.results.append(Result(sent, names.out(response.name or ""), response.response or {}, media))
    elif (call := part.function_call) is not None:
        if turn.role == "user":
            return
        turn.calls.append(Call(ids.call(call.id, call.name), names.out(call.name or ""), call.args or {}))
    elif part.text is None:
        turn.others.append(part)
    elif part.text.strip() and not part.thought:
        turn.texts.append(part.text)
