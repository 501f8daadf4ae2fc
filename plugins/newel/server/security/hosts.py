"""Hosts and origins: by which name a server may be called, and from which pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_MOST = 256


class Hosts:
    """The names by which a server may be called."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = LOOPBACK | {name.lower() for name in names}

    def allows(self, host: str) -> bool:
        """Whether a Host header, with or without a port, is one of them."""
        match = _HOST.fullmatch(host)
        return match is not None and match[1].strip("[]").lower() in self._names


class Origins:
    """The pages that may call a server: its own, and those that are listed."""

    def __init__(self, listed: Sequence[str]) -> None:
        self._any = "*" in listed
        self._exact = {one.rstrip("/").lower() for one in listed}
        self._patterns = [re.compile(one.removeprefix("regex:")) for one in listed if one.startswith("regex:")]

    def lists(self, origin: str) -> bool:
        """Whether an Origin header is a page elsewhere that may call."""
        if origin == "null":
            return False
        return self._any or origin.lower() in self._exact or any(p.fullmatch(origin) for p in self._patterns)

    @staticmethod
    def is_own(origin: str, host: str) -> bool:
        """Whether an Origin header is the server's own page: its host and port are those that were called."""
        scheme, _, place = origin.lower().partition("://")
        return scheme in ("http", "https") and place == host.lower()


class Remembered:
    """The answers of a function, for values that come again and again."""

    def __init__(self, decide: Callable[..., bool]) -> None:
        self._decide = decide
        self._answers: dict[Hashable, bool] = {}

    def __call__(self, *values: bytes) -> bool:
        answer = self._answers.get(values)
        if answer is None:
            if len(self._answers) >= _MOST:
                self._answers.clear()
            answer = self._answers[values] = self._decide(*(value.decode("latin-1") for value in values))
        return answer
