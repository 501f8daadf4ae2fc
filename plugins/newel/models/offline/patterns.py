"""A short text that a regular expression matches, for the usual subset of the language."""

from __future__ import annotations

import re

_CLASSES = {"d": "0", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "t": "\t", "n": "\n", "r": "\r"}
_POSITIONS = frozenset("bBAZz")
_COUNT = re.compile(r"\{(\d*)(?:,(\d*))?\}")


def text_matching(pattern: str) -> str | None:
    """The shortest text we can make in which `pattern` is found; None if we can make none.

    Look-around, back references and conditions are not understood; the result is always checked.
    """
    try:
        compiled = re.compile(pattern)
    except re.error:
        return None
    try:
        text = _Writer(pattern).write()
    except (IndexError, ValueError):
        return None
    return text if compiled.search(text) else None


class _Writer:
    """One pass over a pattern that writes a match as it reads."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def write(self) -> str:
        return self._alternatives()

    def _more(self) -> bool:
        return self._at < len(self._pattern)

    def _next(self) -> str:
        char = self._pattern[self._at]
        self._at += 1
        return char

    def _peek(self) -> str:
        return self._pattern[self._at] if self._more() else ""

    def _alternatives(self) -> str:
        """The first alternative; the others are skipped."""
        first = self._sequence()
        while self._peek() == "|":
            self._next()
            self._sequence()
        return first

    def _sequence(self) -> str:
        texts: list[str] = []
        while self._more() and self._peek() not in "|)":
            atom = self._atom()
            texts.append(atom * self._times())
        return "".join(texts)

    def _atom(self) -> str:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return self._set()
        if char == "\\":
            return self._escape()
        if char == ".":
            return "a"
        return "" if char in "^$" else char

    def _group(self) -> str:
        if self._peek() == "?":
            opening = re.compile(r"\?(?:P<\w+>|<\w+>|:|[aiLmsux]+:)").match(self._pattern, self._at)
            if opening is None:
                raise ValueError("a group that is not understood")
            self._at = opening.end()
        text = self._alternatives()
        if self._next() != ")":
            raise ValueError("a group that does not end")
        return text

    def _escape(self) -> str:
        char = self._next()
        if char in _POSITIONS:
            return ""
        return _CLASSES.get(char, char)

    def _set(self) -> str:
        negated = self._peek() == "^"
        if negated:
            self._next()
        members = [self._member()]
        while self._peek() != "]":
            member = self._member()
            if member == "-" and self._peek() != "]":
                members.extend(map(chr, range(ord(members[-1]), ord(self._member()) + 1)))
            else:
                members.append(member)
        self._next()
        if not negated:
            return members[0]
        return next(c for c in "a0 -_." if c not in members)

    def _member(self) -> str:
        char = self._next()
        return self._escape() if char == "\\" else char

    def _times(self) -> int:
        """How often the atom before is repeated: the least number that the quantifier allows."""
        char = self._peek()
        times = 1
        if char and char in "*?":
            self._next()
            times = 0
        elif char == "+":
            self._next()
        elif match := _COUNT.match(self._pattern, self._at):
            self._at = match.end()
            times = int(match[1] or 0)
        else:
            return 1
        if self._peek() and self._peek() in "?+":
            self._next()
        return times
