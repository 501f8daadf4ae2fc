"""The time of day steps, and files next to a store are taken away, in other ways than usual."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from newel.sessions import SqliteSessionService
from newel_kernel import Event, SessionError

WHERE: dict[str, Any] = {"app_name": "till", "user_id": "u"}
AT = {**WHERE, "session_id": "s"}


@pytest.mark.parametrize("step", [-60.0, 60.0, 1e9])
def test_no_lease_depends_on_the_time_of_day_of_a_process(
    make_store: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, step: float
) -> None:
    """Neither what its owner believes, nor what others may take; also after it was renewed."""

    async def main() -> None:
        async with make_store() as mine, make_store() as other:
            await mine.create_session(**AT)
            view = await mine.open(**AT)
            mine.hold(view, 60.0)
            await mine.append_event(view, Event(author="user", message="x"))
            now = time.time
            monkeypatch.setattr(time, "time", lambda: now() + step)
            assert mine.confirm(view) is None  # enough of it is left
            assert await other.claim(**AT, owner="other", ttl=5) is None
            await mine.renew(view, ttl=60.0)
            monkeypatch.setattr(time, "time", lambda: now() - step)
            assert await other.claim(**AT, owner="other", ttl=5) is None
            await mine.append_event(view, Event(author="user", message="y"))

    asyncio.run(main())


def _removed(path: Path) -> None:
    for name in ("-wal", "-shm"):
        Path(f"{path}{name}").unlink()


def _emptied_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()
    Path(f"{path}-wal").touch()


def _copied_log(path: Path) -> None:
    """As by a synchronising program, which writes a copy and renames it."""
    shutil.copy(f"{path}-wal", f"{path}.tmp")
    os.replace(f"{path}.tmp", f"{path}-wal")


def _copied_file(path: Path) -> None:
    shutil.copy(path, f"{path}.tmp")
    os.replace(f"{path}.tmp", path)


def _moved_away(path: Path) -> None:
    os.replace(path, f"{path}.moved")


def _moved_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


def _directory_for_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()
    Path(f"{path}-wal").mkdir()


@pytest.mark.parametrize("quiet", [0.0, 0.1])
@pytest.mark.parametrize(
    "change",
    [_removed, _emptied_log, _copied_log, _copied_file, _moved_away, _moved_folder, _directory_for_log],
    ids=lambda change: change.__name__.strip("_"),
)
def test_what_is_acknowledged_is_there_or_the_append_fails(
    tmp_path: Path, change: Callable[[Path], None], quiet: float
) -> None:
    """Whatever is done to the files: a copy of what lies at the path has each event that was acknowledged after it."""
    folder = tmp_path / "store"
    folder.mkdir()
    path = folder / "s.db"
    stored: list[str] = []

    async def main() -> None:
        async with SqliteSessionService(path) as store:
            session = await store.create_session(**AT)
            for number in range(3):
                await store.append_event(session, Event(author="user", message="x", id=f"before{number}"))
                await asyncio.sleep(quiet)
            change(path)
            for number in range(3):
                with suppress(SessionError):
                    await store.append_event(session, Event(author="user", message="x", id=f"after{number}"))
                    stored.append(f"after{number}")
            if not stored:
                return
            crashed = tmp_path / "crashed"  # as a crash would leave it
            shutil.copytree(folder, crashed)
            async with SqliteSessionService(crashed / "s.db") as other:
                again = await other.get_session(**AT)
                assert again is not None
            assert [event.id for event in again.events] == ["before0", "before1", "before2", *stored]

    asyncio.run(main())
