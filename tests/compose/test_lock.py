"""The lock: a composition is held to names, distributions and versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from newel_compose import compose, lock_of, write_lock
from newel_compose._internal.selection import check_lock
from newel_kernel import CompositionError, LockError


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "newel.lock"
    write_lock(compose("minimal"), path)
    return path


def edit(lock: Path, **plugins: Any) -> None:
    """Set plugins in a lock file; None takes one out."""
    data = json.loads(lock.read_text())
    for name, entry in plugins.items():
        data["plugins"].pop(name, None)
        if entry is not None:
            data["plugins"][name] = entry
    lock.write_text(json.dumps(data))


def test_a_lock_holds_names_distributions_and_versions(lock: Path) -> None:
    data = json.loads(lock.read_text())
    assert data == lock_of(compose("minimal"))
    assert data["distribution"] == "minimal"
    assert data["plugins"]["contents"] == {"distribution": "newel", "version": "0.1.0"}
    assert "planning" not in data["plugins"]  # installed, but not part of it


def test_writing_twice_gives_the_same_bytes_and_leaves_nothing_else(lock: Path) -> None:
    before = lock.read_bytes()
    write_lock(compose("minimal"), lock)
    assert lock.read_bytes() == before
    assert list(lock.parent.iterdir()) == [lock]


def test_what_is_locked_composes(lock: Path) -> None:
    assert compose("minimal", lock=lock).distribution.name == "minimal"


def test_every_difference_is_listed(lock: Path) -> None:
    edit(
        lock, contents={"distribution": "newel", "version": "9"}, echo=None, rag={"distribution": "rag", "version": "1"}
    )
    with pytest.raises(LockError) as caught:
        compose("minimal", lock=lock)
    assert isinstance(caught.value, CompositionError)
    assert caught.value.problems[:-1] == (
        "plugin 'contents': newel 0.1.0, locked: newel 9",
        "plugin 'echo': newel 0.1.0, locked: absent",
        "plugin 'rag': absent, locked: rag 1",
    )
    assert "newel lock" in caught.value.problems[-1]


def test_another_distribution_is_refused(lock: Path) -> None:
    with pytest.raises(LockError, match="the distribution is 'adk', locked: 'minimal'"):
        compose("adk", lock=lock)


def test_a_plugin_given_directly_is_part_of_the_lock(lock: Path) -> None:
    class Plugin:
        name = "loud"

    with pytest.raises(LockError, match=r"plugin 'loud': given directly, .*, locked: absent"):
        compose("minimal", plugins=[Plugin()], lock=lock)


@pytest.mark.parametrize("text", ["", "not json", "[]", "{}", '{"plugins": 3}', "null"])
def test_a_damaged_lock_is_refused_with_the_remedy(lock: Path, text: str) -> None:
    lock.write_text(text)
    with pytest.raises(LockError, match=r"is not a lock file .*; write it again with `newel lock`"):
        check_lock(compose("minimal"), lock)


def test_a_lock_beside_the_choice_binds_it(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lock.parent)
    monkeypatch.setenv("NEWEL_DISTRIBUTION", "minimal")
    assert compose().distribution.name == "minimal"
    edit(lock, contents=None)
    with pytest.raises(LockError, match="plugin 'contents'"):
        compose()
    assert compose("minimal").distribution.name == "minimal"  # an argument is a choice of its own
