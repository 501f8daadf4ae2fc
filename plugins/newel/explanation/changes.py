"""Changes: the difference of two JSON documents, as a list of edits that turn one into the other.

The edits are those of JSON Patch (RFC 6902: `add`, `remove`, `replace`, a JSON pointer and a value), with the value
that was there before, so that a list of them reads as a diff.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from newel_kernel import Json


@dataclass(frozen=True, slots=True)
class Change:
    """One edit of a document."""

    op: Literal["add", "remove", "replace"]
    #: A JSON pointer (RFC 6901), such as ``/contents/0/parts/0/text``.
    path: str
    #: What was there, unless something was added; what is there now, unless something was removed.
    before: Any = None
    after: Any = None

    def as_json(self) -> Json:
        """The edit as JSON Patch has it, and `before`."""
        data: Json = {"op": self.op, "path": self.path}
        if self.op != "add":
            data["before"] = self.before
        if self.op != "remove":
            data["value"] = self.after
        return data


def changes_between(before: Any, after: Any, path: str = "") -> list[Change]:
    """The edits that turn `before` into `after`, in the order in which they apply."""
    return list(_changes(before, after, path))


def _changes(before: Any, after: Any, path: str) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [key for key in before if key not in after]:
            yield Change("remove", _join(path, key), before=before[key])
        for key, value in after.items():
            if key in before:
                yield from _changes(before[key], value, _join(path, key))
            else:
                yield Change("add", _join(path, key), after=value)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _changes_of_lists(before, after, path)
    elif not _same(before, after):
        yield Change("replace", path, before, after)


def _changes_of_lists(before: list[Any], after: list[Any], path: str) -> Iterator[Change]:
    """The edits between the longest equal beginnings and ends; what is in between is compared item by item."""
    shorter = min(len(before), len(after))
    start = next((at for at in range(shorter) if not _same(before[at], after[at])), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if not _same(before[-1 - at], after[-1 - at])), rest)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    for at, (one, other) in enumerate(zip(old, new, strict=False), start):
        yield from _changes(one, other, f"{path}/{at}")
    at = start + min(len(old), len(new))
    for item in old[len(new) :]:
        yield Change("remove", f"{path}/{at}", before=item)
    for place, item in enumerate(new[len(old) :], at):
        yield Change("add", f"{path}/{place}", after=item)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: in Python 1 equals True and 1.0, in JSON they are three values."""
    if one is other:
        return True
    return bool(one == other) and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _join(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"


def applied(document: Any, changes: Sequence[Change]) -> Any:
    """`document` after these edits; the original stays unchanged."""
    document = json.loads(json.dumps(document))
    for change in changes:
        if not change.path:
            document = change.after
            continue
        *parents, last = [key.replace("~1", "/").replace("~0", "~") for key in change.path[1:].split("/")]
        place = document
        for key in parents:
            place = place[int(key)] if isinstance(place, list) else place[key]
        _edit(place, last, change)
    return document


def _edit(place: Any, key: str, change: Change) -> None:
    at: Any = int(key) if isinstance(place, list) else key
    if change.op == "remove":
        del place[at]
    elif change.op == "add" and isinstance(place, list):
        place.insert(at, change.after)
    else:
        place[at] = change.after
