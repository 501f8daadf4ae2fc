"""Places: the arguments by which stores find what a request names."""

from __future__ import annotations

from typing import TypedDict


class Owner(TypedDict):
    """A user of an app."""

    app_name: str
    user_id: str


class Place(Owner):
    """A session of theirs."""

    session_id: str
