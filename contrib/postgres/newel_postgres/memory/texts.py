"""Texts: names as PostgreSQL can hold them, which has no NUL, and back."""

from __future__ import annotations

from newel.sessions.stored.dialects import POSTGRES

read = POSTGRES.read


def stored(name: str) -> str:
    """A name as text that PostgreSQL can hold; `read` gives it back."""
    return str(POSTGRES.stored(name))


def maybe(name: str | None) -> str | None:
    """The same, or None."""
    return None if name is None else stored(name)
