"""State: the session's key-value store as code sees it, with every write recorded as a delta.

A key's prefix is its scope: ``app:`` (all users of the app), ``user:`` (all sessions of a user), ``temp:``
(the rest of this invocation, never stored), none (the session). Writing None removes a key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from newel_kernel._internal.values import Json
from newel_types import deep_copy, well_formed

_MISSING = object()


class State(MutableMapping[str, Any]):
    """A view over `value` (the live state) that records each write in `delta` (what an event will carry)."""

    APP_PREFIX = "app:"
    USER_PREFIX = "user:"
    TEMP_PREFIX = "temp:"

    __slots__ = ("_delta", "_lent", "_value")

    def __init__(self, value: Json, delta: Json) -> None:
        self._value = value
        self._delta = delta
        #: The lists and dicts that were read: each with a copy of what it was then.
        self._lent: dict[str, tuple[Any, Any]] = {}

    def __getitem__(self, key: str) -> Any:
        value = self._delta.get(key, _MISSING)
        if value is _MISSING:
            value = self._value[key]
        elif value is None:
            raise KeyError(key)
        if (value.__class__ is list or value.__class__ is dict) and key not in self._lent:
            self._lent[key] = (value, deep_copy(value))
        return value

    def keep_changes(self) -> None:
        """Write the lists and dicts that were changed in place since they were read."""
        for key, (value, before) in [*self._lent.items()]:
            if value != before:
                del self._lent[key]
                if self.get(key) is value:  # else another value was written in its place
                    self[key] = value

    def __setitem__(self, key: str, value: Any) -> None:
        self._delta[key] = value = well_formed(value)
        if value is None:
            self._value.pop(key, None)
        else:
            # Visible at once to the rest of the invocation, before the event that carries it is committed.
            self._value[key] = value

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self[key] = None

    def __contains__(self, key: object) -> bool:
        value = self._delta.get(key, _MISSING)  # type: ignore[call-overload]
        return key in self._value if value is _MISSING else value is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    def __repr__(self) -> str:
        return f"State({self.to_dict()!r})"

    def has_delta(self) -> bool:
        """Whether anything was written."""
        return bool(self._delta)

    def to_dict(self) -> Json:
        """The state as a plain dict."""
        merged = {**self._value, **self._delta}
        return {key: value for key, value in merged.items() if value is not None or key not in self._delta}


def apply_delta(state: Json, delta: Mapping[str, object]) -> None:
    """Write `delta` into `state`; a value of None removes the key."""
    for key, value in delta.items():
        if value is None:
            state.pop(key, None)
        else:
            state[key] = value
