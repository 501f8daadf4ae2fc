"""Following: the events of a run from its session's log, from any machine, until it has ended or waits."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from newel.claims import is_leasing
from newel.engines.engine import OVER, BaseEngine, RunRecord, RunState
from newel.engines.places import Place
from newel.sessions.contract import SessionStore
from newel.sessions.watching import watched
from newel_kernel import BaseSessionService, Event

#: An event, and how many events the session had with it.
Numbered = tuple[int, Event]
#: How often who follows finds an answer in the log before the engine is told of it: usually who stored it does so.
_LOOKS = 3


async def follow(
    store: BaseSessionService, engine: BaseEngine, where: Place, invocation_id: str, after: int = 0
) -> AsyncGenerator[Numbered, None]:
    """The stored events of an invocation behind the first `after` events of its session, each once and in order."""
    reading, key, is_over = _Reading(store, where, after), f"{where['app_name']}:{invocation_id}", False
    async with watched(store, **where) as watch:
        while True:
            came = await reading.more()
            for number, event in came:
                if event.invocation_id == invocation_id:
                    yield number, event
            if is_over:
                return
            if came:
                watch.soon()
                continue
            record = await engine.record(key)
            is_over = await _is_left(record, reading, invocation_id)
            if not is_over:
                await reading.tell(engine, record)
                await watch.wait()


class _Reading:
    """The log of a session from some position on."""

    def __init__(self, store: BaseSessionService, where: Place, position: int) -> None:
        self._store = store
        self._where = where
        self.position = position
        #: How often in succession the run was said to wait though the log has its answer.
        self._answered = 0

    async def more(self) -> list[Numbered]:
        """The events that have come since the last call."""
        events = await self.after(self.position)
        first = self.position + 1
        self.position += len(events)
        return [*enumerate(events, first)]

    async def after(self, position: int) -> list[Event]:
        """The events after the first `position`."""
        if isinstance(self._store, SessionStore):
            return await self._store.tail(**self._where, after=position)
        session = await self._store.get_session(**self._where)
        return [*session.events[position:]] if session is not None else []

    async def tell(self, engine: BaseEngine, record: RunRecord | None) -> None:
        """Tell the engine of an answer that it does not hear of otherwise, as of one that was given to a plain run."""
        self._answered = self._answered + 1 if record is not None and record.state is RunState.PAUSED else 0
        if record is not None and self._answered == _LOOKS:
            await engine.signal(record.spec.key)

    async def has_run(self) -> bool:
        """Whether a process has the session."""
        if not is_leasing(self._store):
            return False
        session = await self._store.open(**self._where)  # type: ignore[attr-defined]
        return session is not None and self._store.holder(session) is not None


async def _is_left(record: RunRecord | None, reading: _Reading, invocation_id: str) -> bool:
    """Whether nothing more comes: what a record says of an answered run may be of before the answer."""
    if record is None:
        return not await reading.has_run()
    if record.state is not RunState.PAUSED:
        return record.state in OVER
    since = await reading.after(record.outcome.events if record.outcome is not None else reading.position)
    return not any(event.invocation_id == invocation_id and event.author == "user" for event in since)


async def is_left(record: RunRecord, store: BaseSessionService, where: Place) -> bool:
    """Whether a run has ended, or waits for an answer that is not stored yet."""
    reading = _Reading(store, where, 0)
    if record.state is RunState.PAUSED and record.outcome is None:
        await reading.more()
    return await _is_left(record, reading, record.spec.invocation_id)
