"""Masking of texts, of JSON-like data and of contents. Nothing is edited in place: masked data is new."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from typing import Any

from newel_redact.patterns import PATTERNS, Kind, Pattern, is_named_secret
from newel_types import Content, Part, thaw


class Tally:
    """The different values that were masked, by kind. It keeps their hashes, not the values."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: dict[Kind, set[int]] = {}

    def add(self, kind: Kind, value: str) -> None:
        """Count `value` once, however often the history shows it."""
        self._seen.setdefault(kind, set()).add(hash(value))

    @property
    def counts(self) -> dict[str, int]:
        """Kind -> number of different values."""
        return {kind: len(values) for kind, values in sorted(self._seen.items())}


class Masker:
    """Replaces the values of some kinds with a text in which ``{kind}`` stands for the kind.

    The text must not look like such a value itself, or it would be masked and counted again.
    """

    def __init__(self, kinds: Sequence[Kind], replacement: str) -> None:
        self._patterns = tuple(pattern for pattern in PATTERNS if pattern.kind in kinds)
        self._texts: dict[Kind, str] = {kind: replacement.replace("{kind}", kind.replace("_", " ")) for kind in kinds}

    def text(self, text: str, tally: Tally, name: str = "") -> str:
        """`text` masked; the same object if there is nothing to mask. `name` is its key in a mapping."""
        if "secret" in self._texts and is_named_secret(name, text):
            tally.add("secret", text)
            return self._texts["secret"]
        masked = text
        for pattern in self._patterns:
            if not pattern.needs or any(needed in masked for needed in pattern.needs):
                masked = self._masked(pattern, masked, tally, name)
        return text if masked == text else masked

    def _masked(self, pattern: Pattern, text: str, tally: Tally, name: str) -> str:
        group = "value" if "value" in pattern.regex.groupindex else 0

        def replaced(match: re.Match[str]) -> str:
            if pattern.accepts is not None and not pattern.accepts(match, name):
                return match.group()
            tally.add(pattern.kind, match.group(group))
            start, end = match.span(group)
            return match.string[match.start() : start] + self._texts[pattern.kind] + match.string[end : match.end()]

        return pattern.regex.sub(replaced, text)

    def value(self, value: object, tally: Tally, name: str = "") -> Any:
        """JSON-like data masked, keys included; the same object if there is nothing to mask."""
        if isinstance(value, str):
            return self.text(value, tally, name)
        if isinstance(value, Mapping):
            return self._mapping(value, tally)
        if isinstance(value, (list, tuple)):
            items = [self.value(item, tally, name) for item in value]
            return value if _same(items, value) else items
        return value

    def _mapping(self, value: Mapping[object, object], tally: Tally) -> Any:
        masked: dict[object, object] = {}
        for key, item in value.items():
            name = key if isinstance(key, str) else ""
            new = text = self.text(name, tally) if name else key
            count = 1
            while new in masked:  # two keys that are masked alike are still two
                count += 1
                new = f"{text} ({count})"
            masked[new] = self.value(item, tally, name)
        return value if _same(masked, value) and _same(masked.values(), value.values()) else masked

    def instruction(self, value: object, tally: Tally) -> Any:
        """A system instruction masked: a text, a Content, a Part, or a list of them."""
        if isinstance(value, Content):
            return self.content(value, tally) or value
        if isinstance(value, Part):
            masked = self.content(Content(parts=[value]), tally)
            return value if masked is None or not masked.parts else masked.parts[0]
        if isinstance(value, list):
            return [self.instruction(item, tally) for item in value]
        return self.value(value, tally)

    def content(self, content: Content, tally: Tally) -> Content | None:
        """A masked copy of `content`, or None if there is nothing to mask."""
        changes = [(i, self._changes(part, tally)) for i, part in enumerate(content.parts or ())]
        if not any(change for _, change in changes):
            return None
        own = thaw(content)
        for index, change in changes:
            for holder, field, new in change:
                part: object = (own.parts or [])[index]
                setattr(getattr(part, holder) if holder else part, field, new)
        return own

    def _changes(self, part: Part, tally: Tally) -> list[tuple[str, str, object]]:
        """What to set in a part: the object in it (or ''), the field, and the masked value."""
        if part.thought and part.thought_signature:
            # The provider wrote it, and refuses it if it no longer fits its signature.
            return []
        changes = []
        for holder, field in _FIELDS:
            owner: object = getattr(part, holder) if holder else part
            old = getattr(owner, field) if owner is not None else None
            new = self.value(old, tally) if old else old
            if new is not old:
                changes.append((holder, field, new))
        return changes


#: The fields of a part that a model reads. Inline data, and URIs that would no longer resolve, do not change.
_FIELDS = (
    ("", "text"),
    ("function_call", "args"),
    ("function_response", "response"),
    ("executable_code", "code"),
    ("code_execution_result", "output"),
)


def _same(left: Iterable[object], right: Iterable[object]) -> bool:
    return all(map(is_, left, right))
