"""Texts: names as PostgreSQL, which allows no NUL, can hold them, and back."""

from __future__ import annotations

from newel.sessions.stored.dialects import POSTGRES

read = POSTGRES.read


def stored(name: str) -> str:
    """A name as text that PostgreSQL can hold; `read` gives it back."""
    return str(POSTGRES.stored(name))


def maybe(name: str | None) -> str | None:
    """The same as `stored`; None stays None."""
    return None if name is None else stored(name)
