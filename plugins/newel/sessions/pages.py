"""Pages of a list of sessions, and the places after which they begin."""

from __future__ import annotations

from newel_kernel import SessionError


def place_of(user_id: str, number: int) -> str:
    """The token for the place after a session in a list; it is opaque to callers."""
    return f"{number}:{user_id}"


def read_place(after: str | None, size: int) -> tuple[str, int] | None:
    """The user and the number of a place; raises SessionError for an invalid place, or a `size` below 1."""
    if size < 1:
        raise SessionError(f"a page of {size} sessions: its size must be at least 1")
    if after is None:
        return None
    number, colon, user_id = after.partition(":")
    if not colon or not number.isdecimal():
        raise SessionError(f"{after[:40]!r} does not start a page: give the `next` of the previous page")
    return user_id, int(number)
