"""Names and ids: legal and unique when sent, the session's own when read back."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

_HASH = 8
#: Where words of a name meet that has capitals instead of separators. An s after capitals is their plural.
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")


class Names:
    """Spells names as a protocol allows. A spelling depends on the name alone, so it is the same in each request."""

    def __init__(self, most: int = 64, legal: str = r"[A-Za-z0-9_-]") -> None:
        self._most = most
        self._legal = re.compile(legal)
        self._names: dict[str, str] = {}

    def out(self, name: str) -> str:
        """A legal spelling of `name`; different names have different spellings."""
        spelling = legal(name, self._most, self._legal)
        self._names[spelling] = name
        return spelling

    def back(self, spelling: str) -> str:
        """The name that was spelt so; the spelling itself if no name was."""
        return self._names.get(spelling, spelling)


def legal(name: str, most: int, characters: re.Pattern[str]) -> str:
    """`name` if it is legal; otherwise its legal characters and a hash of it, at most `most` characters in all."""
    if name and len(name) <= most and all(map(characters.fullmatch, name)):
        return name
    start = "".join(c if characters.fullmatch(c) else "_" for c in name)[: most - _HASH - 1]
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH]
    return f"{start}_{digest}" if start else f"n_{digest}"


def apart(name: str, between: str) -> str:
    """`name` with `between` where its words meet: ``listHTTPErrors`` has three, and ``listURLs`` two."""
    return _SEAM.sub(between, name)


class CallIds:
    """The ids of a history's calls and results, in its order: legal, unique, and paired as in the session."""

    def __init__(self, most: int = 64, legal: str = r"[A-Za-z0-9_-]") -> None:
        self._most = most
        self._legal = re.compile(legal)
        self._used: set[str] = set()
        #: Calls without a result: the session's id, the name, and the id that was sent.
        self._open: list[tuple[str | None, str | None, str]] = []

    def copy(self) -> CallIds:
        """A copy that can continue without changing this one."""
        new = CallIds.__new__(CallIds)
        new._most, new._legal = self._most, self._legal
        new._used, new._open = self._used.copy(), self._open.copy()
        return new

    def call(self, call_id: str | None, name: str | None) -> str:
        """The id to send for a call."""
        number = len(self._used)
        sent = legal(call_id, self._most, self._legal) if call_id else f"call_{number}"
        if sent in self._used:
            sent = legal(f"{sent}#{number}", self._most, self._legal)
        self._used.add(sent)
        self._open.append((call_id, name, sent))
        return sent

    def result(self, call_id: str | None, name: str | None) -> str | None:
        """The id to send for a result: that of the first open call it can belong to; None if no open call fits."""
        match = next((one for one in self._open if call_id and one[0] == call_id), None)
        if match is None:
            match = next((one for one in self._open if (not call_id or not one[0]) and one[1] == name), None)
        if match is None:
            return None
        self._open.remove(match)
        return match[2]

    def unanswered(self) -> Iterable[tuple[str, str]]:
        """The id that was sent and the name of each call without a result; from now on they count as answered."""
        calls, self._open = self._open, []
        return [(sent, name or "") for _, name, sent in calls]
