"""The store in memory in the simulation: event loops in several threads of each process share it.

It never waits, so that the threads are preempted between any two statements of it and of the claims on its sessions.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from tests.simulation.clock import Loop, RLock
from tests.simulation.preemption import preempted
from tests.simulation.promise import Promise
from tests.simulation.world import Process, SimThread, World

from newel.claims import SessionBusyError, claim, gate
from newel.claims.gate import Claims, leave
from newel.claims.settings import Settings
from newel.runs import Run, Runs, RunStatus
from newel.sessions import InMemorySessionService, event_log, in_memory_session_service, views
from newel.sessions.stored.encoding import encode_event, encode_value
from newel_kernel import (
    Admission,
    AlreadyExistsError,
    Event,
    RunConfig,
    Session,
    SessionError,
    SessionNotFoundError,
)
from newel_types import Content, FunctionCall, Part

if TYPE_CHECKING:
    from tests.simulation.stores import Place

_APP, _USER = "a", "u"
#: So few sessions are in use that threads meet in them; one with so many events is left behind.
_SESSIONS, _MOST_EVENTS = 3, 40
#: What a thread's operation may fail with because of what others did.
_EXPECTED = (SessionBusyError, SessionNotFoundError, AlreadyExistsError)
#: A thread that is preempted runs again within this time, in seconds, mostly in less than the first.
_SHORT, _LONG = 0.0005, 0.02
#: How often a whole log is looked at, and not only what is new in it.
_WHOLE = 0.1
#: What the keys begin with that sessions share; the form of a value that removes its key.
_SHARED, _NONE = ("app:", "user:"), b"null"


@dataclass(eq=False)
class Kept:
    """What is expected of one session, from its creation on."""

    name: str
    number: int
    state: dict[str, bytes]
    #: The ids of the log, as far as it has been looked at, and those that were acknowledged.
    order: list[str] = field(default_factory=list)
    acknowledged: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    #: The run that has the session.
    run: str | None = None


class MemoryPromise(Promise):
    """What is promised of the stores in memory of all processes."""

    def __init__(self, world: World) -> None:
        super().__init__(world, tuple, lambda number, first: [])
        self.stores: dict[Process, Store] = {}

    def check_events(self) -> None:
        """Look at each store that lives."""
        for process, store in list(self.stores.items()):
            if process.is_dead:
                del self.stores[process]
            else:
                store.check()


class Store:
    """The store of a process, with what is expected of it."""

    def __init__(self, promise: MemoryPromise, process: Process) -> None:
        self.promise = promise
        self.process = process
        self.service = InMemorySessionService()
        self.sessions: dict[int, Kept] = {}
        #: By the id of an event that was given to the store: its form, and what it does to the state.
        self.forms: dict[str, bytes] = {}
        self.deltas: dict[str, dict[str, bytes]] = {}
        #: The state that sessions share: each value that was ever written.
        self.shared: dict[str, set[bytes]] = {}

    def fail(self, what: str) -> None:
        """A promise is broken, unless it is by what the dead do on the way out."""
        if not self.process.is_dead:
            self.promise.world.fail(what)

    def created(self, session: Session, state: dict[str, bytes]) -> Kept:
        """A session was created."""
        if session.number in self.sessions:
            self.fail(f"two sessions have the number {session.number}")
        kept = self.sessions[session.number] = Kept(session.id, session.number, state)
        return kept

    def state_after(self, kept: Kept, ids: list[str]) -> dict[str, bytes]:
        """The session's own state after these events."""
        state = dict(kept.state)
        for one in ids:
            for key, value in self.deltas.get(one, {}).items():
                if value == _NONE:
                    state.pop(key, None)
                elif not key.startswith(_SHARED):
                    state[key] = value
        return state

    def check(self) -> None:
        """Check the logs of all sessions that are there, and forget those that are not."""
        users = self.service.sessions.get(_APP, {}).get(_USER, {})
        there = {stored.number: stored for stored in users.values()}
        for number in [number for number in self.sessions if number not in there]:
            del self.sessions[number]
        for number, kept in self.sessions.items():
            self.check_log(kept, list(there[number].events))

    def check_log(self, kept: Kept, events: list[Event]) -> None:
        """The log goes on from what it was; all that was acknowledged is there once, and is what was given."""
        ids = [event.id for event in events]
        if ids[: len(kept.order)] != kept.order:
            self.fail(f"the log of {kept.name} has changed: {kept.order[-3:]} and {ids[-3:]}")
        if len(set(ids)) < len(ids):
            self.fail(f"an event of {kept.name} is stored twice")
        if missing := kept.acknowledged.difference(ids):
            self.fail(f"acknowledged events of {kept.name} are not stored: {sorted(missing)}")
        if kept.refused.intersection(ids):
            self.fail(f"refused events of {kept.name} are stored")
        for event in events if self.promise.world.random.random() < _WHOLE else events[len(kept.order) :]:
            if encode_event(event).data != self.forms.get(event.id):
                self.fail(f"the event {event.id} of {kept.name} has changed since it was given to the store")
        kept.order = ids

    def check_copy(self, copy: Session) -> None:
        """A copy has the state that its events make."""
        kept = self.sessions.get(copy.number)
        if kept is None:
            return
        self.check_log(kept, list(copy.events)) if len(copy.events) > len(kept.order) else None
        self.check_state(kept, copy, [event.id for event in copy.events])

    def check_state(self, kept: Kept, view: Session, ids: list[str]) -> None:
        """The state of a view or a copy is what these events make."""
        own = {key: _form(value) for key, value in view.state.items() if not key.startswith((*_SHARED, "temp:"))}
        if own != (expected := self.state_after(kept, ids)):
            self.fail(f"the state of {kept.name} at {len(ids)} events is {own}, and not {expected}")
        for key, value in view.state.items():
            if key.startswith(_SHARED) and _form(value) not in self.shared.get(key, ()):
                self.fail(f"{key} has the value {value!r}, which nobody has written")


def _form(value: object) -> bytes:
    return encode_value(value, "a value", "")


class MemoryOwner:
    """One process: event loops in threads, each with several tasks that use the same sessions."""

    def __init__(self, world: World, promise: Promise, place: Place, process: Process, settings: Settings) -> None:
        assert isinstance(promise, MemoryPromise)
        self.world = world
        self.random = world.random
        self.promise = promise
        self.process = process
        self.settings = settings.model_copy(update={"wait_seconds": 0.2})
        self.service: None = None  # nothing of it forks
        self.store = promise.stores[process] = Store(promise, process)
        self._names = [f"s{next(world.names)}" for _ in range(_SESSIONS)]

    def start(self) -> None:
        """Let it begin."""
        for number in range(self.random.randint(2, 4)):
            SimThread(self.main, name=f"loop {number}", world=self.world, process=self.process).start()

    def main(self) -> None:
        """One thread."""
        Loop().run_until_complete(self.work())

    async def work(self) -> None:
        """Use sessions, several at a time, for ever."""
        runs = Runs()
        await asyncio.gather(*(self._work_on(runs) for _ in range(self.random.randint(1, 3))))

    async def _work_on(self, runs: Runs) -> None:
        acts: list[Callable[[], Any]] = [
            self._append_through_a_view,
            self._append_through_two_copies,
            self._note,
            self._look,
            self._follow_the_tail,
            self._fork,
            partial(self._run, runs),
            partial(self._run, runs),
        ]
        while True:
            await asyncio.sleep(self.random.expovariate(1000.0))
            act = self._delete if self.random.random() < 0.01 else self.random.choice(acts)
            try:
                await act()
            except Exception as error:
                if self.process.is_dead:  # what its code raises on the way out
                    return
                self.promise.error(error, f"{getattr(act, '__name__', 'a run')} of {self.process.name}", _EXPECTED)

    # --- sessions ----------------------------------------------------------------------------------------------------

    def _where(self) -> dict[str, str]:
        name = self.random.choice(self._names)
        stored = self.store.service.sessions.get(_APP, {}).get(_USER, {}).get(name)
        if stored is not None and len(stored.events) > _MOST_EVENTS:
            self._names[self._names.index(name)] = name = f"s{next(self.world.names)}"
        return {"app_name": _APP, "user_id": _USER, "session_id": name}

    async def _opened(self, where: dict[str, str]) -> Session:
        view = await self.store.service.open(**where)
        return view if view is not None else await self._created(where)

    async def _created(self, where: dict[str, str]) -> Session:
        state = {"n": 0, "list": [1, {"x": ()}]}
        session = await self.store.service.create_session(**where, state=state)
        self.store.created(session, {key: _form(value) for key, value in state.items()})
        _spoil(state)
        return session

    async def _delete(self) -> None:
        await self.store.service.delete_session(**self._where())

    async def _fork(self) -> None:
        service, source = self.store.service, self._where()
        kept = self.store.sessions.get((await self._opened(source)).number)
        name = f"s{next(self.world.names)}"
        copy = await service.fork(**source, new_session_id=name)
        view = await service.open(**source)
        if kept is not None and view is not None and view.number == kept.number:
            ids = [event.id for event in copy.events]
            if ids != [event.id for event in view.events[: len(ids)]]:
                self.store.fail(f"a fork of {kept.name} has other events")
            self.store.check_state(kept, copy, ids)
        await service.delete_session(**source | {"session_id": name})

    # --- appends -----------------------------------------------------------------------------------------------------

    async def _append(self, view: Session, *, out_of_band: bool = False) -> None:
        """Append an event whose values come from the caller, who changes them after it."""
        kept = self.store.sessions.get(view.number)
        if kept is None:  # deleted and looked at since
            return
        event_id, recipe = f"e{next(self.world.names):09d}", self.random.random()
        event = _event(event_id, recipe)
        expected = _expected(event_id, recipe)
        if expected is not None:
            self.store.forms[event_id], self.store.deltas[event_id] = expected
            for key, value in expected[1].items():
                self.store.shared.setdefault(key, set()).add(value)
        seen, values = len(kept.order), _values_of(event)
        try:
            if out_of_band:
                where = {"app_name": _APP, "user_id": _USER, "session_id": kept.name}
                await self.store.service.append_out_of_band(**where, event=event)
            else:
                await self.store.service.append_event(view, event)
        except SessionError as error:
            kept.refused.add(event_id)
            if isinstance(error, AlreadyExistsError):
                self.store.fail(f"the new event {event_id} is taken for one that is there")
            if expected is None and not isinstance(error, _EXPECTED):
                self.promise.count("refusals")
                return
            raise
        self._appended(kept, view, event, seen, out_of_band)
        _spoil(values)

    def _appended(self, kept: Kept, view: Session, event: Event, seen: int, out_of_band: bool) -> None:
        self.promise.count("appends")
        if event.id not in self.store.forms:
            self.store.fail(f"the event {event.id} was stored, and has no stored form")
            return
        if not out_of_band:
            kept.acknowledged.add(event.id)
            ids = [one.id for one in view.events[: view.version]]
            if event.id not in ids[seen:]:
                self.store.fail(f"the view does not have its own event {event.id} at its end: {ids[-3:]}")
            self.store.check_state(kept, view, ids)

    async def _append_through_a_view(self) -> None:
        view = await self._opened(self._where())
        for _ in range(self.random.randint(1, 3)):
            await self._append(view)
            await asyncio.sleep(self.random.expovariate(2000.0))

    async def _append_through_two_copies(self) -> None:
        """Two writers of one snapshot: neither update is lost."""
        service, where = self.store.service, self._where()
        await self._opened(where)
        copies = [await service.get_session(**where) for _ in range(2)]
        await asyncio.gather(*(self._append(copy) for copy in copies if copy is not None))

    async def _note(self) -> None:
        await self._append(await self._opened(self._where()), out_of_band=True)

    # --- readers -----------------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        copy = await self.store.service.get_session(**self._where())
        if copy is not None:
            self.store.check_copy(copy)
            copy.events.clear()
            for value in copy.state.values():
                _spoil(value)
            copy.state.clear()

    async def _follow_the_tail(self) -> None:
        """A subscriber that asks again and again sees each event once, in order."""
        service, where = self.store.service, self._where()
        number = (await self._opened(where)).number
        seen: list[str] = []
        for _ in range(self.random.randint(2, 10)):
            seen += [event.id for event in await service.tail(**where, after=len(seen))]
            await asyncio.sleep(self.random.expovariate(1000.0))
        view = await service.open(**where)
        if view is not None and view.number == number and (ids := [one.id for one in view.events])[: len(seen)] != seen:
            self.store.fail(f"a follower of {view.id} has seen {seen[-3:]}, and the log has {ids[-3:]}")

    # --- runs --------------------------------------------------------------------------------------------------------

    async def _run(self, runs: Runs) -> None:
        """A run that others follow, each from where it likes."""
        where, name = self._where(), f"r{next(self.world.names)}"
        published: list[Event] = []
        admission = Admission(self.store.service, **where, config=RunConfig(), creates=False, resumes=False)
        await self._opened(where)
        self.promise.count("runs")
        claims = Claims(self.settings)
        events = claims.around(self._events(claims, admission, name, published), admission)
        run = runs.start(events, _USER, where["session_id"], lambda: self._read(where))
        followers = [self._follow(run, published) for _ in range(self.random.randint(0, 3))]
        if self.random.random() < 0.1:
            asyncio.get_running_loop().call_later(self.random.expovariate(100.0), run.cancel)
        try:
            await asyncio.gather(*followers, return_exceptions=True)
        finally:
            await run.wait()
        with suppress(*_EXPECTED):
            if (error := run._error()) is not None:
                raise error

    async def _read(self, where: dict[str, str]) -> list[Event]:
        return await self.store.service.tail(**where, after=0)

    async def _events(
        self, claims: Claims, admission: Admission, name: str, published: list[Event]
    ) -> AsyncGenerator[Event, None]:
        begin = self.world.now
        try:
            admission.session = view = await claims.enter(admission)
        finally:
            self.promise.waited(self.process, begin, self.settings.wait_seconds, "a claim")
        kept = self.store.sessions.get(view.number) or Kept(view.id, view.number, {})
        if kept.run is not None:
            self.store.fail(f"the runs {kept.run} and {name} have the session {kept.name} at a time")
        kept.run = name
        try:
            for _ in range(self.random.choice([1, 2, 4, 80])):
                if self.random.random() < 0.3:
                    event = Event(author="a", message="p", partial=True, id=f"{name}-{next(self.world.names)}")
                else:
                    event = await self._append_of(view, kept)
                published.append(event)
                yield event
                if self.random.random() < 0.3:
                    await asyncio.sleep(self.random.expovariate(2000.0))
        finally:
            kept.run = None
            leave(admission)

    async def _append_of(self, view: Session, kept: Kept) -> Event:
        event_id = f"e{next(self.world.names):09d}"
        event = Event(author="a", message="x", id=event_id, state={"n": event_id})
        self.store.forms[event_id] = encode_event(event).data
        self.store.deltas[event_id] = {"n": _form(event_id)}
        event = Event(author="a", message="x", id=event_id, state={"n": event_id}, timestamp=event.timestamp)
        seen = len(kept.order)
        await self.store.service.append_event(view, event)
        self._appended(kept, view, event, seen, out_of_band=False)
        return event

    async def _follow(self, run: Run, published: list[Event]) -> None:
        await asyncio.sleep(self.random.expovariate(500.0))
        after = last = self.random.choice([0, 0, 3])
        seen: list[str] = []
        pause = self.random.choice([0.0, 0.0, 0.001, 0.1])
        async with aclosing(run.numbered(after)) as numbered:
            async for number, event in numbered:
                if number <= last:
                    self.store.fail(f"a follower has got the number {number} after {last}")
                last = number
                if not event.partial:
                    seen.append(event.id)
                if pause:
                    await asyncio.sleep(pause)
        stored = [event.id for event in published[after:] if not event.partial]
        if seen != stored and (run.status is RunStatus.DONE or seen != stored[:-1]):
            self.store.fail(f"a follower of {run.session_id} from {after} has seen {seen[-5:]}, and not {stored[-5:]}")


def _event(event_id: str, recipe: float) -> Event:
    """An event with values of many kinds; the same recipe makes it again."""
    draw = random.Random(recipe)
    event = Event(author=draw.choice(["a", "user"]), id=event_id, timestamp=1.0 + draw.random())
    kind = draw.randrange(6)
    if kind == 0:
        event.content = Content(role="model", parts=[Part(text=draw.choice(["x", "é", "\ud800"]))])
    elif kind == 1:
        call = FunctionCall(id=event_id, name="f", args={"v": _value(draw, 3)})
        event.content = Content(role="model", parts=[Part(function_call=call)])
    elif kind == 2:
        event.custom_metadata = {"v": _value(draw, 3)}
    else:
        keys = draw.sample(["n", "list", "app:a", "user:b", f"k{draw.randrange(3)}", "temp:t"], draw.randint(1, 3))
        event.actions.state_delta = {key: None if draw.random() < 0.2 else _value(draw, 2) for key in keys}
    return event


def _value(draw: random.Random, depth: int) -> Any:
    kind = draw.randrange(9 if depth else 5)
    if kind >= 5:
        inner = [_value(draw, depth - 1) for _ in range(draw.randint(0, 2))]
        shapes: list[Any] = [
            inner,
            tuple(inner),
            dict(enumerate(inner)),
            {f"k{at}": one for at, one in enumerate(inner)},
        ]
        return shapes[kind - 5]
    return draw.choice([None, True, draw.randrange(100), 0.5, "t", "é", b"x", {1}, float("inf"), object()])


def _expected(event_id: str, recipe: float) -> tuple[bytes, dict[str, bytes]] | None:
    """The form that every store keeps of the event of a recipe, and its state; None if it must be refused."""
    event = _event(event_id, recipe)
    actions = event.touched_actions
    if actions is not None:
        for key in [key for key in actions.state_delta if key.startswith("temp:")]:
            del actions.state_delta[key]
    try:
        stored = encode_event(event)
    except SessionError:
        return None
    kept = stored.event.touched_actions
    return stored.data, {key: _form(value) for key, value in kept.state_delta.items()} if kept is not None else {}


def _values_of(event: Event) -> list[Any]:
    """The values within an event that are its caller's."""
    parts = event.content.parts or () if event.content is not None else ()
    values: list[Any] = [part.function_call.args for part in parts if part.function_call is not None]
    actions = event.touched_actions
    return [*values, event.custom_metadata, *(actions.state_delta.values() if actions is not None else ())]


def _spoil(value: Any) -> None:
    """Change what the caller has given to a store, or got from it, as far as it lets itself be changed."""
    with suppress(TypeError, AttributeError):
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
            _spoil(inner)
        if isinstance(value, dict):
            value["spoilt"] = True
        elif isinstance(value, list):
            value.append("spoilt")


@contextmanager
def preempting(world: World) -> Iterator[None]:
    """Threads are preempted within the store and the claims."""
    often = world.random.choice([0.002, 0.01, 0.05])
    statements = 1

    def pause() -> None:
        nonlocal statements
        statements -= 1
        if statements <= 0 and world.thread is not world.idle:
            statements = int(world.random.expovariate(often)) + 1
            world.wait(world.random.random() * (_SHORT if world.random.random() < 0.9 else _LONG))

    modules = (in_memory_session_service, views, event_log, claim, gate)
    with (
        patch.object(event_log, "containers", RLock()),
        patch.object(claim, "_lock", RLock()),
        preempted(modules, pause),
    ):
        yield
