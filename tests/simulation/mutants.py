"""Mutants: each takes out one mend, so that the simulation must find the break that it mends."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

from tests.simulation import file_store, memory_store, server, server_store, simulation
from tests.simulation.world import LOOP, Broken, World

from newel.claims import claim
from newel.runs import Run
from newel.sessions import in_memory_session_service, views
from newel.sessions.errors import StoreUnavailableError
from newel.sessions.sqlite import database as sqlite_database
from newel.sessions.sqlite import writer as sqlite_writer
from newel.sessions.sqlite.renewal import SqliteRenewal
from newel.sessions.stored import clockwork, leases, pooled, state_changes
from newel.sessions.stored.dialects import CLOCK
from newel.sessions.stored.keeper import Keeper
from newel.sessions.stored.leases import Lease
from newel.sessions.stored.leasing import Leasing
from newel.sessions.stored.outcome import Outcome
from newel.sessions.stored.pooled_renewal import PooledRenewal
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Query
from newel.sessions.stored.writes import Append

BOTH = ("sqlite", "postgres")


@dataclass(frozen=True)
class Mutant:
    """A mend that is taken out: its name, what it breaks, and where."""

    name: str
    #: The kind of break in issue terms: 1 renewal, 2 clocks, 3 waits; 0: fencing and durability.
    kind: int
    stores: tuple[str, ...]
    apply: Callable[[], Any]
    #: The faults of the simulation that show it, if it is rarely found among others.
    only: tuple[str, ...] = ()


def steps_until_found(mutant: Mutant, store: str, most: int, each: int = 10_000) -> tuple[int, str]:
    """After how many steps, over seeds in turn, a promise is broken, and which; (0, "") if none is in `most` steps."""
    steps, seed = 0, 1
    with mutant.apply():
        while steps < most:
            run = simulation.Simulation(store, seed, mutant.only)
            try:
                run.run(min(each, most - steps))
            except Broken as broken:
                return steps + run.world.steps, str(broken)
            steps, seed = steps + run.world.steps, seed + 1
    return 0, ""


# --- kind 1: renewal -------------------------------------------------------------------------------------------------


@contextmanager
def _renewed_when_idle() -> Iterator[None]:
    """The writer renews, once its queue was empty for three seconds."""
    transact, renew = sqlite_writer.SqliteWriter._transact, SqliteRenewal.renew

    def noted(self: Any, items: Any) -> bool:
        self.database.busy_at = clockwork.elapsed()
        return transact(self, items)

    def idle(self: Any, ours: Any, seconds: float) -> Any:
        if clockwork.elapsed() < getattr(self._database, "busy_at", 0.0) + 3.0:
            raise StoreUnavailableError("the queue is not empty")
        return renew(self, ours, seconds)

    with patch.object(sqlite_writer.SqliteWriter, "_transact", noted), patch.object(SqliteRenewal, "renew", idle):
        yield


@contextmanager
def _renewed_in_the_loop() -> Iterator[None]:
    """A task of the event loop renews, so a tool that blocks the loop stops it."""
    renew = PooledRenewal.renew

    def blocked(self: Any, ours: Any, seconds: float) -> Any:
        world = World.current
        if world.troubles.within(world.now - 1e-6, world.now, world.thread.process, LOOP):
            raise StoreUnavailableError("the loop is blocked")
        return renew(self, ours, seconds)

    with patch.object(PooledRenewal, "renew", blocked):
        yield


@contextmanager
def _ended_by_a_fork() -> Iterator[None]:
    """The threads end before a fork, and start again with the next lease."""
    before = Keeper.before_fork

    def ended(self: Any) -> None:
        self.close()
        self._closed = False
        self._renewer = self._attempts = self._attempt = None
        before(self)

    with patch.object(Keeper, "before_fork", ended):
        yield


@contextmanager
def _waits_for_locked_rows() -> Iterator[None]:
    """A renewal waits for rows that others have locked."""
    epochs = Statements._epochs

    def waiting(self: Any, count: int, unlocked: bool) -> str:
        return epochs(self, count, unlocked).replace(" SKIP LOCKED", "")

    with patch.object(Statements, "_epochs", waiting):
        yield


@contextmanager
def _watches_while_it_asks() -> Iterator[None]:
    """One thread asks the database and watches the deadlines."""

    def begin(self: Any, attempt: Any) -> None:
        with self._working:
            self._renew(attempt)
        for lease in attempt.leases:
            if clockwork.elapsed() >= lease.over_at:
                self._leases.lose(lease)
        self._again_at = clockwork.elapsed() + attempt.pause

    with patch.object(Keeper, "_begin", begin):
        yield


# --- kind 2: clocks --------------------------------------------------------------------------------------------------


@contextmanager
def _wall_clock() -> Iterator[None]:
    """The leases of a file end by the time of day."""

    def offer(connection: Any) -> None:
        connection.create_function(CLOCK, 0, lambda: World.current.wall() % 1e7)

    with patch.object(sqlite_database, "offer_clock", offer):
        yield


@contextmanager
def _late_answers_are_believed() -> Iterator[None]:
    """A confirmation counts, however long ago the store gave it."""

    def confirm(self: Any, session: Any) -> Any:
        lease = self._leases.of(session)
        if lease is None or (lease.taken and not lease.lost and clockwork.elapsed() < lease.sure_until):
            return None
        return self.renew(session, ttl=lease.seconds) if lease.taken else self.take(session)

    with patch.object(Leasing, "confirm", confirm):
        yield


# --- kind 3: waits ---------------------------------------------------------------------------------------------------


@contextmanager
def _each_waits_again() -> Iterator[None]:
    """A write that the group's patience was used up for waits again on its own."""
    patient = sqlite_writer.SqliteWriter._patient
    seen: set[int] = set()

    def again(self: Any, items: Any) -> Any:
        for item in items:
            if clockwork.elapsed() >= item.until and id(item) not in seen:
                seen.add(id(item))
                item.until += self.database.patience
        return patient(self, items)

    with patch.object(sqlite_writer.SqliteWriter, "_patient", again):
        yield


@contextmanager
def _one_after_another() -> Iterator[None]:
    """Each write of a group has the whole patience, after the others have used up theirs."""

    async def try_alone(self: Any, item: Any, others: Any) -> None:
        async def attempt(connection: Any) -> None:
            if item.outcome.begin():
                item.outcome.set_result(await self._alone(item.write, connection))

        try:
            await self._attempted(attempt, cuts=True)
        except Exception as error:
            if not item.outcome.done():
                item.outcome.set_exception(error)

    with patch.object(pooled.PooledDatabase, "_try", try_alone):
        yield


@contextmanager
def _locked_rows_keep_their_worker() -> Iterator[None]:
    """A worker tries its writes until they are done or late, and takes no others meanwhile."""
    commit = pooled.PooledDatabase._committed

    async def commit_all(self: Any, items: Any) -> None:
        pause = 0.01
        while items := [item for item in items if not item.outcome.done()]:
            await commit(self, items)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.5)

    with patch.object(pooled.PooledDatabase, "_committed", commit_all):
        yield


@contextmanager
def _shared_rows_in_groups() -> Iterator[None]:
    """Groups also write rows that sessions share."""
    with patch.object(Append, "shared", False), patch.object(Append, "single", False):
        yield


@contextmanager
def _keys_in_any_order() -> Iterator[None]:
    """Each writer of shared state locks the keys in the order in which its delta has them."""
    scopes = state_changes.scopes_of

    def unordered(sql: Any, key: Any, number: int, change: Any) -> Any:
        for (scope, owner, _), changes in zip(
            scopes(sql, key, number, change), (change.app, change.user, change.session), strict=True
        ):
            yield scope, owner, changes

    with patch.object(state_changes, "scopes_of", unordered):
        yield


@contextmanager
def _the_session_is_locked_first() -> Iterator[None]:
    """A writer of shared state has its session's row locked while it waits for others."""
    change_shared = Append._change_shared

    def locked(self: Any, sql: Any) -> Any:
        yield Query(sql.free_row, tuple(map(sql.dialect.stored, self.key)))
        return (yield from change_shared(self, sql))

    with patch.object(Append, "_change_shared", locked):
        yield


@contextmanager
def _no_limit(name: str) -> Iterator[None]:
    """The server knows no such limit."""
    limits = server_store.postgres_limits

    def without(patience: float) -> dict[str, str]:
        return {key: value for key, value in limits(patience).items() if key != name}

    with patch.object(server_store, "postgres_limits", without):
        yield


@contextmanager
def _locks_outlast_leases() -> Iterator[None]:
    """A transaction waits for another session's row as long as any, and keeps those of short leases locked."""
    limits = server_store.postgres_own_limits

    def without(seconds: float, patience: float) -> dict[str, str]:
        return {key: value for key, value in limits(seconds, patience).items() if key != "lock_timeout"}

    with patch.object(server_store, "postgres_own_limits", without):
        yield


@contextmanager
def _cancelling_is_not_heard() -> Iterator[None]:
    """A write that waits is not withdrawn."""
    with patch.object(Outcome, "cancel", lambda self, msg=None: False):
        yield


# --- fencing and durability ------------------------------------------------------------------------------------------


@contextmanager
def _without(pattern: str) -> Iterator[None]:
    """An append does not check something of the row."""
    count = Statements._count

    def unchecked(self: Any, hold: Any) -> str:
        head, where, tail = count(self, hold).partition(" WHERE ")
        return head + where + re.sub(pattern, "", tail)

    with patch.object(Statements, "_count", unchecked):
        yield


@contextmanager
def _a_store_that_forgets() -> Iterator[None]:
    """One commit in a hundred is acknowledged and not made, as by a disk that lies."""
    execute, commit = file_store.SimConnection._commit, server.Server.commit

    def forgets(connection: Any) -> None:
        if connection._world.random.random() < 0.01:
            connection._connection.execute("ROLLBACK")
            connection._connection.execute("BEGIN IMMEDIATE")
        execute(connection)

    def forgets_events(self: Any, transaction: Any) -> None:
        if self.world.random.random() < 0.01:
            transaction.rows, transaction.events, transaction.state = {}, [], {}
        commit(self, transaction)

    with (
        patch.object(file_store.SimConnection, "_commit", forgets),
        patch.object(server.Server, "commit", forgets_events),
    ):
        yield


@contextmanager
def _attribute(owner: Any, name: str, value: Any) -> Iterator[None]:
    with patch.object(owner, name, value):
        yield


def _mutants() -> Sequence[Mutant]:
    sqlite, postgres = ("sqlite",), ("postgres",)
    locks = ("locked_row", "crowd")
    sure = property(lambda lease: lease.since + lease.seconds * 3)
    return (
        Mutant("renewed when the queue is idle", 1, sqlite, _renewed_when_idle),
        Mutant("renewed in the event loop", 1, postgres, _renewed_in_the_loop),
        Mutant("ended by a fork", 1, BOTH, _ended_by_a_fork),
        Mutant("waits for locked rows", 1, postgres, _waits_for_locked_rows),
        Mutant("watches while it asks", 1, BOTH, _watches_while_it_asks),
        Mutant("no margin", 1, BOTH, partial(_attribute, leases, "_LOST_AFTER", 3.0)),
        Mutant("wall clock", 2, sqlite, _wall_clock),
        Mutant("belief without end", 2, BOTH, partial(_attribute, Lease, "sure_until", sure)),
        Mutant("no confirmation", 2, BOTH, partial(_attribute, Leasing, "confirm", lambda self, session: None)),
        Mutant("late answers are believed", 2, BOTH, _late_answers_are_believed),
        Mutant("each waits again", 3, sqlite, _each_waits_again),
        Mutant("one after another", 3, postgres, _one_after_another, only=locks),
        Mutant("locked rows keep their worker", 3, postgres, _locked_rows_keep_their_worker, only=locks),
        Mutant("shared rows in groups", 3, postgres, _shared_rows_in_groups, only=("crowd",)),
        Mutant("shared keys in any order", 3, postgres, _keys_in_any_order, only=("crowd",)),
        Mutant("the session is locked first", 1, postgres, _the_session_is_locked_first, only=locks),
        Mutant("no lock timeout", 3, postgres, partial(_no_limit, "lock_timeout"), only=locks),
        Mutant("no idle timeout", 3, postgres, partial(_no_limit, "idle_in_transaction_session_timeout")),
        Mutant("cancelling is not heard", 3, sqlite, _cancelling_is_not_heard),
        Mutant("cancelling is not heard", 3, postgres, _cancelling_is_not_heard, only=locks),
        Mutant(
            "no epoch check",
            0,
            BOTH,
            partial(_without, r" AND \(?(CAST\(\?5 AS bigint\)|lease|\?5) = .*?(?= RETURNING|$)"),
        ),
        Mutant("no version check", 0, BOTH, partial(_without, r" AND version = (CAST\(\?2 AS bigint\)|\?2)")),
        Mutant("every owner counts as dead", 0, BOTH, _everybody_is_dead),
        Mutant("a store that forgets", 0, BOTH, _a_store_that_forgets),
        Mutant("an event is not known again", 0, postgres, _not_known_again),
        Mutant(
            "an event that was read meanwhile is not known again",
            0,
            postgres,
            partial(_attribute, Append, "_read_meanwhile", lambda self, asked: None),
            only=("cut",),
        ),
        Mutant("locks outlast leases", 1, postgres, _locks_outlast_leases, only=locks),
        *_mutants_in_memory(),
    )


def _mutants_in_memory() -> Sequence[Mutant]:
    memory, module = ("memory",), in_memory_session_service
    return (
        Mutant("threads share without a lock", 0, memory, partial(_attribute, memory_store, "RLock", nullcontext)),
        Mutant("values stay the caller's", 0, memory, partial(_attribute, module, "kept_event", lambda event: event)),
        Mutant("copies share the state", 0, memory, partial(_attribute, module, "deep_copy", lambda value: value)),
        Mutant("views miss what others append", 0, memory, partial(_attribute, views, "catch_up", lambda *_: None)),
        Mutant("views outlive their session", 0, memory, partial(_attribute, module, "check_append", _accepts)),
        Mutant("a claim keeps nobody out", 0, memory, partial(_attribute, claim.Claim, "take", _claims_anyway)),
        Mutant("followers read what is at hand", 0, memory, partial(_attribute, Run, "_after", _at_hand)),
    )


def _accepts(session: object, event: object, *, log: object, lease: int) -> None:
    """Every view may append."""


def _claims_anyway(self: claim.Claim) -> bool:
    """A claim of its own, in a table of its own."""
    self._claims = {self._where: self}
    return True


async def _at_hand(run: Any, position: int, most: int) -> Any:
    """A follower that is far behind misses what the run no longer keeps."""
    return [one for one in run._recent if one[0] > position][:most]


@contextmanager
def _everybody_is_dead() -> Iterator[None]:
    """The owner of a lease counts as dead."""
    with patch.object(simulation, "is_ended", lambda process: True):
        yield


@contextmanager
def _not_known_again() -> Iterator[None]:
    """An append whose answer was lost is taken for another one's."""
    before = Append._stored_before

    def stale(self: Any, sql: Any, version: int) -> Any:
        stored = self.stored
        self.stored = stored._replace(data=b"")
        try:
            return (yield from before(self, sql, version))
        finally:
            self.stored = stored

    with patch.object(Append, "_stored_before", stale):
        yield


MUTANTS = _mutants()
