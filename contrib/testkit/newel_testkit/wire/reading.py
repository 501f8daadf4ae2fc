"""Reading: what the body of a request says, the same for every protocol."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from newel_kernel import Json
from newel_testkit.wire.facts import Fact

_LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that a message says."""

    role: Literal["user", "model"]
    kind: Literal["text", "thought", "redacted", "media", "call", "result"]
    #: Of a result, its texts; of media, their mark (`media_mark`) or address.
    text: str = ""
    #: The id of a call or a result.
    id: str | None = None
    name: str | None = None
    args: Any = None
    signature: str | None = None
    #: The media within a result, and whether it is said to be an error (None: the protocol cannot say it).
    media: tuple[str, ...] = ()
    error: bool | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """A tool in the form of its declaration."""

    description: str
    facts: frozenset[Fact]
    strict: bool = False


@dataclass(slots=True)
class Reading:
    """What a request says."""

    system: str = ""
    items: list[Item] = field(default_factory=list)
    tools: dict[str, Declared] = field(default_factory=dict)
    #: ``auto``, ``any``, ``none``, ``tool:NAME`` or ``tools:NAME,NAME``.
    choice: str | None = None
    #: The settings, by newel's names: ``temperature``, ``max_output_tokens``.
    settings: dict[str, Any] = field(default_factory=dict)
    schema: frozenset[Fact] | None = None
    json_mode: bool = False
    #: ``off``, ``dynamic`` or ``budget:N``.
    thinking: str | None = None
    effort: str | None = None
    #: Whether a part of it is marked for a cache.
    cached: bool = False

    def of(self, role: str, kind: str) -> Iterator[Item]:
        """The items of one kind."""
        return (item for item in self.items if (item.role, item.kind) == (role, kind))

    def text(self, role: str) -> str:
        """The texts of a role."""
        return "\n".join(item.text for item in self.of(role, "text"))


def media_mark(kind: str, data: bytes) -> str:
    """Two media with one mark are the same."""
    return f"{kind.partition(';')[0].strip().lower()}:{hashlib.sha256(data).hexdigest()[:12]}"


def mark_of(kind: str, encoded: str) -> str:
    """The mark of media in base64."""
    return media_mark(kind, base64.b64decode(encoded.replace("-", "+").replace("_", "/")))


def mark_of_url(url: str) -> str:
    """The mark of a data URL; any other URL is its own mark."""
    head, comma, data = url.partition(",")
    if not url.startswith("data:") or not comma:
        return url
    return mark_of(head.removeprefix("data:").partition(";")[0], data)


def arguments_of(raw: str) -> Any:
    """The arguments of a call that come as text; the text if it is not JSON."""
    try:
        return json.loads(raw or "{}")
    except ValueError:
        return raw


def named_tools(names: Iterable[str]) -> str | None:
    """A choice of tools by their names."""
    listed = sorted(names)
    return None if not listed else f"tool:{listed[0]}" if len(listed) == 1 else "tools:" + ",".join(listed)


def settings_of(body: Json, names: dict[str, str]) -> dict[str, Any]:
    """The fields of `body` under newel's names; `names` maps newel's names to the protocol's."""
    return {ours: body[theirs] for ours, theirs in names.items() if body.get(theirs) is not None}


def same_name(ours: str, theirs: str) -> bool:
    """Whether two names can mean one tool: an illegal name is sent in another spelling."""
    if ours == theirs or _LEGAL.fullmatch(ours):
        return ours == theirs
    letters = re.sub(r"[^a-z0-9]", "", ours.lower())[:20]
    return letters in re.sub(r"[^a-z0-9]", "", theirs.lower())
