"""Wrapping: puts an answer that is not an object into the object that the service wants, and takes it out again."""

from __future__ import annotations

import re

from newel.models.json_schemas import Schema

_KEY = "result"
_HEAD = re.compile(r'\s*\{\s*"result"\s*:\s*')
#: How many characters may still become the head.
_MOST_HEAD = 64
_TAIL = re.compile(r"\s*\}?\s*\Z")


def wrapped(schema: Schema) -> Schema:
    """The schema of an object whose only property fits `schema`."""
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    result: Schema = {"type": "object", "properties": {_KEY: inner}, "required": [_KEY], "additionalProperties": False}
    return {**result, "$defs": schema["$defs"]} if "$defs" in schema else result


class Unwrapping:
    """Takes the text of a wrapped answer, in pieces or whole, and gives the content of the wrapping, verbatim.

    Text that is not wrapped passes unchanged.
    """

    def __init__(self) -> None:
        self._head = ""
        self._inside: bool | None = None
        #: The end of the text so far: the end of the wrapping, unless more follows.
        self._tail = ""

    def feed(self, text: str) -> str:
        """The next piece of the content."""
        if self._inside is None:
            self._head += text
            match = _HEAD.match(self._head)
            ends = match is not None and match.end() < len(self._head)
            if not ends and len(self._head) < _MOST_HEAD and self._may_begin():
                return ""
            self._inside = match is not None
            text, self._head = self._head[match.end() if match else 0 :], ""
        if not self._inside:
            return text
        text = self._tail + text
        cut = _TAIL.search(text)
        at = cut.start() if cut else len(text)
        self._tail = text[at:]
        return text[:at]

    def close(self) -> str:
        """The text that was held back and is not wrapping."""
        if self._inside is None:
            head, self._head = self._head, ""
            return head
        return "" if "}" in self._tail else self._tail

    def _may_begin(self) -> bool:
        """Whether the text so far can be the start of a wrapping."""
        bare = re.sub(r"\s+", "", self._head)
        return f'{{"{_KEY}":'.startswith(bare)
