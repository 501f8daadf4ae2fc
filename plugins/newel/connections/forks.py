"""Forks: objects that must be at rest while the process forks, and begin again in the child."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forking(Protocol):
    """What happens to an object when its process forks."""

    def before_fork(self) -> None:
        """Come to rest, and stay so: no thread may hold a lock or use a connection during a fork."""

    def after_fork_in_parent(self) -> None:
        """Continue."""

    def after_fork_in_child(self) -> None:
        """Begin again: the parent's threads and connections are not there."""


_watched: weakref.WeakSet[Forking] = weakref.WeakSet()
#: Those that are at rest; kept alive until the fork is over.
_resting: list[Forking] = []


def watch_forks(item: Forking) -> None:
    """Tell `item` of each fork, for as long as it lives."""
    _watched.add(item)


def _before() -> None:
    _resting[:] = _watched
    for item in _resting:
        item.before_fork()


def _in_parent() -> None:
    while _resting:
        _resting.pop().after_fork_in_parent()


def _in_child() -> None:
    while _resting:
        _resting.pop().after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
