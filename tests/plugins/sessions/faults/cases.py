"""What is done with a store while a system call fails, and what must be there afterwards."""

from __future__ import annotations

import asyncio
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from newel.artifacts import FileArtifactService
from newel.sessions import SqliteSessionService
from newel.sessions.stored.service import StoredSessionService
from newel.sessions.verification import problems_of
from newel_adk.sessions import Choice, import_sessions
from newel_kernel import AlreadyExistsError, Event, NewelError, Session, SessionNotFoundError, StaleSessionError
from newel_types import Blob, Part

Step = Callable[[], Awaitable[object]]
#: Hears what happens: ``(what, name of the step, result or error)``.
Say = Callable[..., None]
#: What a step may say instead of being done.
REFUSALS = (NewelError, OSError)
APP = {"app_name": "app", "user_id": "u"}
MINE, OTHER = {**APP, "session_id": "s"}, {**APP, "session_id": "t"}
DATA = Path(__file__).parents[3] / "contrib" / "adk" / "sessions" / "data" / "adk-2.13.0-sqlite.db"


class Ledger:
    """What the working process has said. What a disk that was `dead` has refused may be there."""

    def __init__(self, dead: bool) -> None:
        self._dead = dead
        self._open: set[str] = set()
        self.begun: set[str] = set()
        #: The steps that were acknowledged, in that order, with their results.
        self.done: dict[str, Any] = {}
        self.refused: set[str] = set()
        #: Why a step was refused last.
        self.reasons: dict[str, object] = {}
        #: Steps that were taken again although nobody knew whether they were done.
        self.unsure: set[str] = set()

    def hear(self, what: str, name: str, *more: object) -> None:
        if what == "begun":
            self.unsure |= {name} & self._open
            self.begun.add(name)
            self._open.add(name)
            self.refused.discard(name)
        elif what == "done":
            self._open.discard(name)
            self.done[name] = more[0]
        elif what == "refused":
            self.reasons[name] = more[0]
            if not self._dead:
                self._open.discard(name)
                self.refused.add(name)


class Case(ABC):
    """Something that is done with a store."""

    #: Whether steps can be taken behind one that is refused.
    goes_on = False

    async def open(self) -> None:  # noqa: B027 - some have nothing to open
        """Open what the steps need, where it is not open."""

    async def close(self) -> None:  # noqa: B027
        """Close it."""

    @abstractmethod
    def steps(self) -> Sequence[Mapping[str, Step]]:
        """The steps by name, in groups; those of a group are taken at once. Each may be taken again."""

    @abstractmethod
    async def check(self, ledger: Ledger) -> None:
        """Raise AssertionError where what is there is not what was acknowledged."""


async def tried(case: Case, names: set[str], say: Say) -> None:
    """Take the steps of these names, those of one group at once."""

    async def take(name: str, step: Callable[[], Awaitable[object]]) -> bool:
        say("begun", name)
        try:
            result = await step()
        except REFUSALS as error:
            say("refused", name, f"{type(error).__name__}: {error}")
            return False
        say("done", name, result)
        return True

    for group in case.steps():
        taken = await asyncio.gather(*(take(name, step) for name, step in group.items() if name in names))
        if not all(taken) and not case.goes_on:
            return


def event(name: str) -> Event:
    return Event(id=name, author="agent", message=name * 300, state={"latest": name, "user:latest": name, name: 1})


class Sessions(Case):
    """Sessions are made, forked, claimed and deleted, and events appended."""

    goes_on = True
    #: Whether an append of which nobody heard may be there, so that its view is behind once.
    may_be_behind = False

    def __init__(self, make: Callable[[], StoredSessionService], app: str = "app") -> None:
        self.make_store = make
        self.where = {"app_name": app, "user_id": "u"}
        self.store: StoredSessionService | None = None

    async def open(self) -> None:
        self.views: dict[str, Session] = {}
        if self.store is None:
            self.store = self.make_store()

    async def close(self) -> None:
        assert self.store is not None
        store, self.store = self.store, None
        await store.close()

    def steps(self) -> Sequence[Mapping[str, Step]]:
        made = {f"make {name}": partial(self.make, name) for name in ("s", "t")}
        alone = [{f"s {name}": partial(self.append, "s", name)} for name in ("a", "b")]
        at_once = {f"{session} {name}": partial(self.append, session, name) for session in "st" for name in ("c", "d")}
        return (
            *({name: step} for name, step in made.items()),
            *alone,
            at_once,
            {"s beside": self.append_beside},
            {"fork": self.fork},
            {"t claimed": self.claim},
            {"s last": partial(self.append, "s", "last")},
            {"gone": self.make_and_delete},
        )

    async def make(self, name: str) -> None:
        assert self.store is not None
        await once(self.store.create_session(**self.where, session_id=name, state={"first": name}))

    async def append(self, session: str, name: str) -> None:
        assert self.store is not None
        view = self.views.get(session) or await self.store.open(**self.where, session_id=session)
        if view is None:
            raise SessionNotFoundError(f"{session} was not made")
        self.views[session] = view
        try:
            await once(self.store.append_event(view, event(name)))
        except StaleSessionError:
            if not self.may_be_behind:
                raise
            await once(self.store.append_event(view, event(name)))

    async def append_beside(self) -> None:
        assert self.store is not None
        await once(self.store.append_out_of_band(**self.where, session_id="s", event=event("beside")))

    async def fork(self) -> None:
        assert self.store is not None
        await once(self.store.fork(**self.where, session_id="s", new_session_id="f", events=1))

    async def claim(self) -> None:
        assert self.store is not None
        view = await self.store.claim(**self.where, session_id="t", owner="me", ttl=60)
        if view is None:
            raise SessionNotFoundError("t was not made")
        await once(self.store.append_event(view, event("claimed")))
        await self.store.release(view)

    async def make_and_delete(self) -> None:
        assert self.store is not None
        await self.make("gone")
        await self.store.delete_session(**self.where, session_id="gone")

    async def stored(self) -> dict[str, Session]:
        """The sessions that a service of its own finds; each is whole."""
        found = {}
        async with self.make_store() as store:
            for name in ("s", "t", "f", "gone"):
                session = await store.get_session(**self.where, session_id=name)
                if session is not None:
                    found[name] = session
                    assert await problems_of(store, session) == []
        return found

    async def check(self, ledger: Ledger) -> None:
        found = await self.stored()
        for name in ("s", "t"):
            assert (name in found) >= (f"make {name}" in ledger.done), f"{name} is lost"
            if name in found:
                self.compare(name, found[name], ledger)
        if "fork" in ledger.done:
            assert [one.id for one in found["f"].events] == [found["s"].events[0].id]
            assert found["f"].state["first"] == "s"
        assert "gone" not in ledger.done or "gone" not in found, "what was deleted is there"

    def compare(self, name: str, session: Session, ledger: Ledger) -> None:
        ids = [f"{name} {one.id}" for one in session.events]
        acknowledged = [one for one in ledger.done if one.startswith(f"{name} ")]
        assert len(set(ids)) == len(ids), f"twice: {ids}"
        assert set(acknowledged) <= set(ids), f"lost: {set(acknowledged) - set(ids)}"
        assert set(ids) <= ledger.begun, f"made up: {set(ids) - ledger.begun}"
        assert not set(ids) & ledger.refused, f"refused, and there: {set(ids) & ledger.refused}"
        ends = [one for one in ids if one in acknowledged]
        assert sorted(ends[:2]) == sorted(acknowledged[:2]), "not in the order of the appends"
        for one in session.events:
            assert session.state[one.id] == 1
        assert not ids or session.state["latest"] == session.events[-1].id
        assert session.state["first"] == name


class InSqlite(Sessions):
    """The same in a file."""

    def __init__(self, folder: Path) -> None:
        super().__init__(lambda: SqliteSessionService(folder / "s.db"))
        self.folder = folder

    async def check(self, ledger: Ledger) -> None:
        await super().check(ledger)
        with closing(sqlite3.connect(self.folder / "s.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


class Upkeep(InSqlite):
    """A file that has something is copied and vacuumed."""

    goes_on = False

    def steps(self) -> Sequence[Mapping[str, Step]]:
        names = ("make s", "s a", "s b", "gone")
        before = [{name: step} for group in super().steps() for name, step in group.items() if name in names]
        return *before, {"copy": self.copy}, {"vacuum": self.vacuum}, {"s last": partial(self.append, "s", "last")}

    @property
    def target(self) -> Path:
        return self.folder / "copy" / "copy.db"

    async def copy(self) -> None:
        assert self.store is not None
        self.target.parent.mkdir(exist_ok=True)
        if not self.target.exists():
            await self.store.backup(self.target)

    async def vacuum(self) -> None:
        assert self.store is not None
        await self.store.vacuum()

    async def check(self, ledger: Ledger) -> None:
        await super().check(ledger)
        assert self.target.exists() >= ("copy" in ledger.done), "the copy is lost"
        if self.target.exists():
            async with SqliteSessionService(self.target) as store:
                session = await store.get_session(**APP, session_id="s")
                assert session is not None
                assert [one.id for one in session.events][:2] == ["a", "b"]
                assert await problems_of(store, session) == []


class Import(Case):
    """A database of google-adk is imported."""

    def __init__(self, make: Callable[[], StoredSessionService]) -> None:
        self.make_store = make

    async def take_in(self) -> int:
        report = await import_sessions(str(DATA), self.make_store, Choice())
        assert report.complete
        return report.events_added

    def steps(self) -> Sequence[Mapping[str, Step]]:
        return ({"import": self.take_in},)

    async def check(self, ledger: Ledger) -> None:
        if "import" not in ledger.done:
            return
        assert await self.take_in() == 0
        async with self.make_store() as store:
            listed = (await store.list_sessions(app_name="shop")).sessions
            found = {}
            for one in listed:
                assert await problems_of(store, one) == []
                whole = await store.get_session(app_name="shop", user_id=one.user_id, session_id=one.id)
                assert whole is not None
                found[one.user_id, one.id] = [one.model_dump_json() for one in whole.events], dict(whole.state)
        assert found == await imported()


async def imported() -> dict[tuple[str, str], tuple[list[str], dict[str, Any]]]:
    """What an import without faults gives."""
    found = {}
    async with SqliteSessionService(":memory:") as store:
        close, store.close = store.close, _nothing  # type: ignore[method-assign]
        await import_sessions(str(DATA), lambda: store, Choice())
        for one in (await store.list_sessions(app_name="shop")).sessions:
            whole = await store.get_session(app_name="shop", user_id=one.user_id, session_id=one.id)
            assert whole is not None
            found[one.user_id, one.id] = [event.model_dump_json() for event in whole.events], dict(whole.state)
        await close()
    assert len(found) == 7
    return found


async def _nothing() -> None:
    pass


class Artifacts(Case):
    """Artifacts are saved into a folder, and deleted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = FileArtifactService(folder / "artifacts")

    def steps(self) -> Sequence[Mapping[str, Step]]:
        save = self.store.save_artifact
        return (
            {"large": lambda: save(**MINE, filename="large", artifact=self.part("large"))},
            {"text": lambda: save(**MINE, filename="text", artifact=Part(text="text"))},
            {"again": lambda: save(**MINE, filename="text", artifact=Part(text="again"))},
            {"user:own": lambda: save(**MINE, filename="user:own", artifact=Part(text="user:own"))},
            {"other": lambda: save(**OTHER, filename="other", artifact=self.part("other"))},
            {"unsaved": lambda: self.store.delete_version(**MINE, filename="text", version=0)},
            {"deleted": lambda: self.store.delete_artifact(**MINE, filename="large")},
            {"gone": lambda: self.store.delete_session(**OTHER)},
        )

    def part(self, name: str) -> Part:
        return Part(inline_data=Blob(mime_type="x/y", data=name.encode() * 20_000))

    async def check(self, ledger: Ledger) -> None:
        read = FileArtifactService(self.folder / "artifacts")
        saved = {
            "large": ("large", MINE, self.part("large")),
            "text": ("text", MINE, Part(text="text")),
            "again": ("text", MINE, Part(text="again")),
            "other": ("other", OTHER, self.part("other")),
            "user:own": ("user:own", MINE, Part(text="user:own")),
        }
        deletions = {"large": "deleted", "text": "unsaved", "other": "gone"}
        known = set()
        for name, (filename, where, part) in saved.items():
            if name in ledger.done and deletions.get(name) not in ledger.begun:
                version = ledger.done[name]
                assert await read.load_artifact(**where, filename=filename, version=version) == part, f"{name} is lost"
        wanted = [part for _, _, part in saved.values()]
        for one in await read.stored(app_name="app"):
            where = {**APP, "session_id": one.session_id, "filename": one.filename}
            part = await read.load_artifact(**where, version=one.version)
            assert part in wanted, f"{one} is not whole"
            name = next(name for name, (_, _, saved_part) in saved.items() if saved_part == part)
            assert name in ledger.begun - ledger.refused, f"{name} was refused, and is there"
            if name not in ledger.unsure:
                assert name not in known, f"{name} is there twice"
                assert deletions.get(name) not in ledger.done, f"{name} was deleted, and is there"
            known.add(name)
        names = sorted({one.filename for one in await read.stored(app_name="app") if one.session_id != "t"})
        assert await read.list_artifact_keys(**MINE) == names
        await read.incomplete_writes(app_name="app", before=4e9, delete=True)
        assert await read.incomplete_writes(app_name="app", before=4e9, delete=True) == []
        assert not list(self.folder.rglob(".*"))


async def once(call: Awaitable[object]) -> None:
    """What was done already, as far as nobody knew of it, is done."""
    with suppress(AlreadyExistsError):
        await call


CASES: dict[str, Callable[[Path], Case]] = {
    "sessions": InSqlite,
    "upkeep": Upkeep,
    "artifacts": Artifacts,
    "import": lambda folder: Import(lambda: SqliteSessionService(folder / "s.db")),
}
