"""Turns: one server process at a time decides whether a message begins a run of a session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from newel.claims.errors import SessionBusyError
from newel.limits.gates import Waiting, gate_id
from newel.limits.holding import left
from newel.limits.places import gates_of
from newel.server.places import Place
from newel_kernel import ConfigurationError, Key, seam

if TYPE_CHECKING:
    from newel.limits.gates import Gates
    from newel.server.state import State

#: How soon and how late one that waits asks again, in seconds.
_WAITING = Waiting(0.005, 0.1)
#: For how long a turn is kept for a process that gives no sign, and waited for, in seconds.
_LEASE_SECONDS, _PATIENCE = 10.0, 15.0
#: A session -> held while this process decides there.
_LOCKS: Key[WeakValueDictionary[tuple[str, ...], asyncio.Lock]] = Key("server.turns", WeakValueDictionary)


@asynccontextmanager
async def turn(server: State, where: Place) -> AsyncIterator[None]:
    """A block in which nobody else decides about a message to the session: the store that keeps limits says who does.

    A store that keeps none keeps only the tasks of this process apart.
    """
    name = (where["app_name"], where["user_id"], where["session_id"])
    async with server.stash[_LOCKS].setdefault(name, asyncio.Lock()):
        gates = _gates(server)
        if gates is None:
            yield
            return
        gate, ticket = gate_id("session", json.dumps(name)), seam.new_id()
        try:
            await _enter(gates, gate, ticket, where["session_id"])
            yield
        finally:
            await left(gates, gate, ticket)


def _gates(server: State) -> Gates | None:
    try:
        return gates_of(server.services.session, server.composition)
    except ConfigurationError:  # neither the sessions' store nor the distribution keeps limits
        return None


async def _enter(gates: Gates, gate: str, ticket: str, session: str) -> None:
    ends = seam.monotonic() + _PATIENCE
    while not (place := await gates.enter(gate, ticket, 1, _LEASE_SECONDS, _WAITING)).held:
        if seam.monotonic() > ends:
            raise SessionBusyError.of(session)
        await asyncio.sleep(place.seconds)
