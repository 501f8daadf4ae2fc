"""A fork waits for what the disk has begun, and for nothing else: other writes of its process wait for it."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.sessions.test_keeping import WHERE, held, locked, said

from newel.sessions import SqliteSessionService, StoreUnavailableError
from newel.sessions.stored.pooled_renewal import PooledRenewal

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
#: So long a fork may take on a busy machine; without a bound it takes as long as the file is locked.
SOON = 8.0


def fork(check: Any = bool) -> float:
    """Fork; return how long it took, once the child has ended well: with `check` true of the child."""
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(0 if check(1) else 1)
    taken = time.monotonic() - begin
    assert os.waitpid(child, 0)[1] == 0
    return taken


@pytest.mark.parametrize("writes", [1, 3])
def test_a_fork_does_not_wait_for_a_locked_file(writes: int, tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "s.db"
        async with SqliteSessionService(path) as store:
            views = [await store.create_session(**WHERE, session_id=f"s{number}") for number in range(writes)]
            writer = store._database.writer  # type: ignore[attr-defined]
            with locked(path):
                tasks = [asyncio.create_task(store.append_event(view, said("kept"))) for view in views]
                await asyncio.sleep(0.1)
                assert fork(lambda _: not writer._kept) < SOON
                assert fork() < SOON
                late = asyncio.create_task(store.append_event(views[0], said("late")))
                await asyncio.sleep(0.1)
                assert not any(task.done() for task in (*tasks, late))
            await asyncio.gather(*tasks, late)
            texts = []
            for view in views:
                stored = await store.get_session(**WHERE, session_id=view.id)
                assert stored is not None
                texts += [event.content.parts[0].text for event in stored.events]  # type: ignore[union-attr, index]
            assert texts == ["kept", "late"] + ["kept"] * (writes - 1)

    asyncio.run(main())


def test_a_write_that_a_fork_interrupts_is_given_up_in_time_and_can_be_withdrawn(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "s.db"
        async with SqliteSessionService(path, patience=1.0) as store:
            one, two = [await store.create_session(**WHERE, session_id=name) for name in "ab"]
            with locked(path):
                begin = time.monotonic()
                given_up = asyncio.create_task(store.append_event(one, said()))
                withdrawn = asyncio.create_task(store.append_event(two, said()))
                await asyncio.sleep(0.1)
                fork()
                withdrawn.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await withdrawn
                with pytest.raises(StoreUnavailableError):
                    await given_up
                assert time.monotonic() - begin < 1.0 + SOON
            for name in "ab":
                stored = await store.get_session(**WHERE, session_id=name)
                assert stored is not None
                assert not stored.events

    asyncio.run(main())


def test_what_was_sent_before_a_fork_is_written_after_it(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "s.db"
        async with SqliteSessionService(path) as store, SqliteSessionService(path) as other:
            view, _ = await held(store, seconds=60.0)
            with locked(path):
                store.release_soon(view)
                await asyncio.sleep(0.1)
                assert fork() < SOON
            end = time.monotonic() + 30.0
            while await other.claim(**WHERE, session_id="s", owner="other", ttl=5) is None:
                assert time.monotonic() < end
                await asyncio.sleep(0.05)

    asyncio.run(main())


def test_a_fork_does_not_wait_for_a_renewal_that_waits(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "s.db"
        async with SqliteSessionService(path) as store:
            view, losses = await held(store, seconds=60.0)
            lease = store._leases.of(view)
            assert lease is not None
            with locked(path):
                lease.since -= 21.0  # it is due, and the attempt may take twelve seconds
                since = lease.since
                store._database.keeper._wake.set()  # type: ignore[attr-defined]
                await asyncio.sleep(0.2)
                assert fork() < SOON
            end = time.monotonic() + 30.0
            while lease.since == since:  # the thread goes on in the parent
                assert time.monotonic() < end
                await asyncio.sleep(0.05)
            assert losses == []

    asyncio.run(main())


@pytest.fixture
def silent() -> Iterator[PooledRenewal]:
    """A renewal of a server that does not answer."""

    async def run(pool: Any, renewal: Any) -> Any:
        await asyncio.sleep(30.0)

    renewal = PooledRenewal("a server", lambda: None, run)  # type: ignore[arg-type, return-value]
    yield renewal
    renewal._runner.close()  # type: ignore[union-attr]


@pytest.mark.parametrize("pause", [0.0, 0.2])
def test_a_fork_does_not_wait_for_a_server_that_is_silent(silent: PooledRenewal, pause: float) -> None:
    errors: list[Exception] = []

    def renew() -> None:
        try:
            silent.renew([], 20.0)
        except StoreUnavailableError as error:
            errors.append(error)

    thread = threading.Thread(target=renew)
    thread.start()
    time.sleep(pause)
    begin = time.monotonic()
    silent.rest()
    thread.join()
    assert time.monotonic() - begin < SOON
    assert len(errors) == 1
