"""Repeatable ids: within a unit of work every new id is derived from the run and the case, not from chance.

A run with scripted models and a frozen clock then writes the same bytes each time, and a resumed run writes the bytes
of an uninterrupted one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from newel_kernel import seam


class _Scope:
    """The ids of one unit, counted."""

    def __init__(self, *names: object) -> None:
        self._seed = "\0".join(str(name) for name in names)
        self._count = 0

    def new(self) -> str:
        self._count += 1
        return derived_id(self._seed, self._count)


_scope: ContextVar[_Scope | None] = ContextVar("evaluation_ids", default=None)
_users = 0


def derived_id(*names: object) -> str:
    """A UUID string that is derived from `names`."""
    h = hashlib.sha256("\0".join(str(name) for name in names).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:32]}"


def _scoped(otherwise: Callable[[], str]) -> Callable[[], str]:
    def new() -> str:
        scope = _scope.get()
        return scope.new() if scope is not None else otherwise()

    return new


@contextmanager
def repeatable_ids() -> Iterator[None]:
    """Make `ids_of` effective; runs may overlap."""
    global _users, _before
    if _users == 0:
        _before = (seam.new_id, seam.new_session_id)
        seam.new_id, seam.new_session_id = _scoped(seam.new_id), _scoped(seam.new_session_id)
    _users += 1
    try:
        yield
    finally:
        _users -= 1
        if _users == 0:
            seam.new_id, seam.new_session_id = _before


_before: tuple[Callable[[], str], Callable[[], str]] = (seam.new_id, seam.new_session_id)


@contextmanager
def ids_of(*names: object) -> Iterator[None]:
    """Derive the new ids of this task, and of the tasks that it starts, from `names`."""
    token = _scope.set(_Scope(*names))
    try:
        yield
    finally:
        _scope.reset(token)
