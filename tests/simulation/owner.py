"""Owner: what a simulated process does with its store: runs of sessions through the real gate, notes and effects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.simulation.clock import Loop
from tests.simulation.promise import Promise, Run
from tests.simulation.world import LOOP, STORE, Process, SimThread, World

from newel.claims import SessionBusyError
from newel.claims.gate import Claims, leave
from newel.claims.settings import Settings
from newel.sessions.errors import StoreUnavailableError
from newel.sessions.stored import clockwork
from newel.sessions.stored.imports import ImportSharedState
from newel.sessions.stored.rows import Key, StateChange
from newel_kernel import Admission, Event, FencedError, RunConfig, Session, SessionNotFoundError, StaleSessionError

if TYPE_CHECKING:
    from tests.simulation.stores import Place

    from newel.sessions.stored.service import StoredSessionService

_EXPECTED = (
    SessionBusyError,
    FencedError,
    SessionNotFoundError,
    StaleSessionError,
    StoreUnavailableError,
    TimeoutError,
)


class Owner:
    """One process, from its start to its death."""

    def __init__(self, world: World, promise: Promise, place: Place, process: Process, settings: Settings) -> None:
        self.world = world
        self.promise = promise
        self.place = place
        self.process = process
        self.settings = settings
        self.service: StoredSessionService | None = None

    def start(self) -> None:
        """Let it begin."""
        SimThread(self.main, name="main", world=self.world, process=self.process).start()

    def main(self) -> None:
        """The main thread."""
        Loop().run_until_complete(self.work())

    async def work(self) -> None:
        """Run sessions, several at a time, for ever."""
        if self.service is None:
            self.service = self.place.open_service()
        await asyncio.gather(*(self._work_on() for _ in range(self.world.random.randint(1, 3))))

    async def _work_on(self) -> None:
        random = self.world.random
        while True:
            is_crowded = self.world.now < self.place.crowded_until
            await asyncio.sleep(random.expovariate(50.0 if is_crowded else 2.0))
            draw = random.random()
            try:
                if draw < (0.8 if is_crowded else 0.15):
                    await self._note()
                else:
                    await self._run(resumes=draw > 0.6)
            except Exception as error:
                self.promise.error(error, f"a run of {self.process.name}", _EXPECTED)

    # --- what it does ------------------------------------------------------------------------------------------------

    async def _note(self) -> None:
        """A message that comes in whoever has the session."""
        name = f"note{next(self.world.names)}"
        begin = self.world.now
        where = self._where()
        assert self.service is not None
        try:
            if self.place.could_wait_in_rings:
                await self._write_shared(name, where)
            else:
                await self.service.append_out_of_band(**where, event=Event(author=name, message="x"))
        finally:
            self.promise.waited(self.process, begin, self.place.patience, "a note")

    async def _write_shared(self, name: str, where: dict[str, str]) -> None:
        """What writes the state of the app and the user: a note, a new session, an import."""
        assert self.service is not None
        draw = self.world.random.random()
        if draw < 0.7:
            event = Event(author=name, message="x", state=self._shared(name) if draw < 0.4 else {})
            await self.service.append_out_of_band(**where, event=event)
            return
        state = {key: value for key, value in self._shared(name).items() if value is not None}
        if draw < 0.9:
            await self.service.create_session(**{**where, "session_id": f"new {name}"}, state=state)
        else:
            change = StateChange.initial(state, name)
            await self.service.import_shared_state(ImportSharedState(Key(*where.values()), change))

    def _shared(self, name: str) -> dict[str, str | None]:
        """A delta of state that sessions share; it removes some keys."""
        random = self.world.random
        keys = random.sample(["app:a", "app:b", "app:c", "user:a", "user:b"], random.randint(1, 4))
        return {key: name if random.random() < 0.8 else None for key in keys}

    def _where(self) -> dict[str, str]:
        return {"app_name": "a", "user_id": "u", "session_id": self.place.session_id()}

    async def _run(self, *, resumes: bool) -> None:
        assert self.service is not None
        admission = Admission(self.service, **self._where(), config=RunConfig(), creates=True, resumes=resumes)
        run = Run(f"{self.process.name}-{next(self.world.names)}", self.process)
        self.promise.count("runs")
        claims = Claims(self.settings)
        async with aclosing(claims.around(self._events(claims, admission, run), admission)) as events:
            async for _ in events:
                pass

    async def _events(self, claims: Claims, admission: Admission, run: Run) -> AsyncGenerator[Event, None]:
        admission.session = view = run.view = await claims.enter(admission)
        service, random = self.service, self.world.random
        assert service is not None
        lease = run.lease = service._leases.of(view)
        try:
            if lease is not None:
                told = lease.on_loss

                def lost() -> None:
                    self.promise.lost(run)
                    if told is not None:
                        told()

                lease.on_loss = lost
                if lease.taken:
                    self.promise.granted(run)
            for step in range(random.randint(1, 5)):
                yield await self._append(run, view, f"{run.name}.{step}")
                await asyncio.sleep(random.expovariate(1.0))
                if random.random() < 0.8:
                    await self._act(run, view)
        finally:
            run.is_over = True
            leave(admission)

    async def _append(self, run: Run, view: Session, name: str) -> Event:
        assert self.service is not None
        begin, random = self.world.now, self.world.random
        delta: dict[str, Any] = {"n": name} if random.random() < 0.2 else {}
        if random.random() < 0.1:
            delta |= self._shared(name) if self.place.could_wait_in_rings else {"app:a": name, "user:b": name}
        event = Event(author=name, message="x", state=delta)
        limit = random.uniform(0.5, 5.0) if random.random() < 0.1 else None
        try:
            async with asyncio.timeout(limit):
                await self.service.append_event(view, event)
        except StoreUnavailableError:
            if not self.place.peers_hold_up:
                self.promise.unavailable(self.process, begin, view.number, self.place.patience)
            raise
        finally:
            if limit is None:
                self.promise.waited(self.process, begin, self.place.patience, "an append")
            else:  # it ends at once, unless its write has begun
                excuses = () if self.place.peers_hold_up else (STORE,)
                self.promise.waited(self.process, begin, limit, "a cancelled append", *excuses)
        self.promise.acknowledged(view, name)
        self.promise.granted(run)
        return event

    async def _act(self, run: Run, view: Session) -> None:
        """A tool call, as the plugin `claims` lets it through."""
        assert self.service is not None
        begin, random = self.world.now, self.world.random
        try:
            if (confirmation := self.service.confirm(view)) is not None:
                self.promise.count("confirmations")
                if random.random() < 0.3:
                    stall = partial(self.process.stall, random.uniform(0.1, 20.0))
                    self.world.after(0.01 * random.random(), stall)
                await confirmation
        finally:
            self.promise.waited(self.process, begin, self.place.patience, "a confirmation")
        self.promise.effect(run)
        seconds = random.expovariate(0.3)
        if random.random() < 0.2:
            seconds = min(seconds, 20.0)
            self.world.troubles.add(self.world.now, self.world.now + seconds, self.process, LOOP)
            clockwork.sleep(seconds)  # a tool that blocks the event loop
        else:
            await asyncio.sleep(seconds)
