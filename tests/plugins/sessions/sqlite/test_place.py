"""Whether a store's files are still those that it has opened."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from newel.sessions.sqlite import place as module
from newel.sessions.sqlite.place import Place


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    for name in ("s.db", "s.db-wal", "s.db-shm"):
        (folder / name).touch()
    return folder / "s.db"


def watched(path: Path) -> Place:
    place = Place(str(path))
    place.opened()
    place.written()
    return place


def looks(place: Place, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths at which it looks to answer once."""
    seen: list[str] = []
    with monkeypatch.context() as patched:
        stat = os.stat
        patched.setattr(module.os, "stat", lambda path: seen.append(str(path)) or stat(path))
        assert place.is_unchanged
    return seen


def settled(path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """One that looks at the directory only."""
    place = watched(path)
    for _ in range(2):
        assert place.is_unchanged
        time.sleep(module._SETTLED_AFTER * 1.5)
    assert place.is_unchanged
    assert looks(place, monkeypatch) == [str(path.parent)]
    return place


def _replaced(path: Path) -> None:
    shutil.copy(path, f"{path}.tmp")
    os.replace(f"{path}.tmp", path)


def _folder_replaced(path: Path) -> None:
    moved = path.parent.rename(path.parent.with_name("moved"))
    shutil.copytree(moved, path.parent)


def _linked_folder(path: Path) -> None:
    moved = path.parent.rename(path.parent.with_name("moved"))
    other = path.parent.with_name("other")
    shutil.copytree(moved, other)
    path.parent.symlink_to(other)


CHANGES: dict[str, Callable[[Path], object]] = {
    "file deleted": lambda path: path.unlink(),
    "log deleted": lambda path: Path(f"{path}-wal").unlink(),
    "index deleted": lambda path: Path(f"{path}-shm").unlink(),
    "log moved": lambda path: os.rename(f"{path}-wal", f"{path}.old"),
    "file replaced": _replaced,
    "log replaced": lambda path: _replaced(Path(f"{path}-wal")),
    "folder moved": lambda path: path.parent.rename(path.parent.with_name("moved")),
    "folder replaced": _folder_replaced,
    "folder replaced by a link": _linked_folder,
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_shows(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = settled(path, monkeypatch)
    CHANGES[name](path)
    assert not place.is_unchanged
    time.sleep(module._SETTLED_AFTER * 1.5)
    assert not place.is_unchanged
    assert not place.is_unchanged


@pytest.mark.parametrize("name", [name for name in CHANGES if not name.startswith("folder")])
def test_a_change_shows_right_behind_another(path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second change is in the same tick of the clock as the first, so that the directory's time is the same."""
    place = watched(path)
    stat, directory = os.stat, os.stat(path.parent)

    def coarse(at: Any, **options: Any) -> os.stat_result:
        return directory if str(at) == str(path.parent) else stat(at, **options)

    with monkeypatch.context() as patched:
        patched.setattr(module.os, "stat", coarse)
        for _ in range(3):
            assert place.is_unchanged
        CHANGES[name](path)
        assert not place.is_unchanged


def test_a_change_of_other_files_is_none(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = settled(path, monkeypatch)
    (path.parent / "other").touch()
    assert len(looks(place, monkeypatch)) > 1
    time.sleep(module._SETTLED_AFTER * 1.5)
    assert place.is_unchanged
    assert looks(place, monkeypatch) == [str(path.parent)]


def test_a_time_that_is_set_back_shows_nothing_less(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.stat(path.parent)
    place = settled(path, monkeypatch)
    Path(f"{path}-wal").unlink()
    os.utime(path.parent, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not place.is_unchanged


@pytest.mark.parametrize("coarse", [True, False])
def test_a_coarse_clock_of_the_file_system_is_not_trusted(
    path: Path, coarse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_COARSE" if coarse else "_HAS_CHANGE_TIMES", 1 if coarse else False)
    place = watched(path)
    for _ in range(4):
        assert str(path) in looks(place, monkeypatch)
        time.sleep(module._SETTLED_AFTER * 1.5)


def test_what_is_closed_is_looked_at_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = settled(path, monkeypatch)
    place.closed()
    assert not place.is_unchanged
    place.written()
    assert str(path) in looks(place, monkeypatch)
