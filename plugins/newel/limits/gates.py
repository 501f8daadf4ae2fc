"""Gates: where runs and calls of all processes take turns, first come first served."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple, Protocol

#: The longest name within a gate's id, as JSON: some databases bound the length of a key.
_LONGEST_NAME = 120
#: How long a waiting one is expected after the time at which it said that it would ask again, in seconds.
GRACE = 5.0
#: How long one is taken to be in while none has left, in seconds.
_GUESS = 1.0
#: What share of the time until its turn one is away, and how many of a line come back in a second, at most.
_SHARE, _OFTEN = 0.8, 10.0
#: How long one that does not come back keeps its number, in seconds.
FORGOTTEN = 600.0


@dataclass(frozen=True, slots=True)
class Waiting:
    """How soon and how late one that waits asks again, in seconds."""

    least: float
    most: float
    #: The next ones, as many as go in at a time, stay at the gate if their turn comes so soon. All others are away:
    #: they come back through an engine, later than they said, and keep no place free. None: all stay.
    soon: float | None = None


class Turn(NamedTuple):
    """What became of a ticket."""

    #: Whether it is in.
    held: bool
    #: How many are before it, and in how many seconds it is to ask again.
    ahead: int = 0
    seconds: float = 0.0
    #: Whether it is away until then.
    away: bool = False


class Gates(Protocol):
    """Lets so many through each gate at a time, or so many in a second. The clock is the store's."""

    async def enter(self, gate: str, ticket: str, limit: int, lease: float, waiting: Waiting) -> Turn:
        """Go in for `lease` seconds, or learn when to ask again; a ticket keeps its place in the line.

        One that is away is overtaken if a place is free, and is before all later ones when it asks again.
        """

    async def renew(self, gate: str, ticket: str, lease: float) -> bool:
        """Stay in; False: the ticket has lapsed, and others may be in."""

    async def leave(self, gate: str, ticket: str) -> None:
        """Go out, or give the place in the line up."""

    async def pace(self, gate: str, rate: float, most: float) -> float | None:
        """Take the next time for one that begins, at `rate` per second: in how many seconds it is.

        None: it is more than `most` seconds away, and was not taken.
        """


Kind = Literal["tenant", "tenant_calls", "model", "model_calls", "session"]


def gate_id(kind: Kind, name: str) -> str:
    """The id of a gate in the store."""
    text = json.dumps([kind, name])
    if len(text) > _LONGEST_NAME:
        text = json.dumps([kind, "#" + blake2b(name.encode(), digest_size=16).hexdigest()])
    return text


def turn_of(line: int, present: int, limit: int, average: float, waiting: Waiting, youngest: float = 0.0) -> Turn:
    """The turn of one that waits, with so many in or before it in the line, of whom so many are in or at the gate.

    `youngest` is for how long the last one to go in has been in: if it stays, so may the next ones.
    """
    guess = max(average or _GUESS, youngest)
    ahead = line - limit + 1
    if waiting.soon is None:  # after half the time that those before it will take, as others took
        return Turn(False, ahead, min(max(guess * ahead / limit / 2, waiting.least), waiting.most))
    near = guess * (present - limit + 1) / limit
    if present < 2 * limit and near <= waiting.soon:
        return Turn(False, ahead, near)
    # Before its turn, so that it comes in time; a long line asks so often that this takes little of an engine.
    most = max(waiting.most, line / _OFTEN) if average else waiting.most
    return Turn(False, ahead, min(max(guess * ahead / limit * _SHARE - waiting.soon, waiting.least), most), True)


def new_average(average: float, seconds: float) -> float:
    """How long one is in, once another one was in for so many seconds."""
    return seconds if not average else average * 0.8 + seconds * 0.2
