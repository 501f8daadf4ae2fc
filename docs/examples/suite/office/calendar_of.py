"""The office's calendar, the same for everybody."""

from __future__ import annotations

_DAYS = {"ann": 12, "bob": 3}


def days_off(name: str) -> dict[str, object]:
    """Count the days off that somebody has left.

    Args:
        name: Their first name.
    """
    left = _DAYS.get(name.lower())
    return {"name": name, "days": left} if left is not None else {"error": f"nobody here is called {name}"}
