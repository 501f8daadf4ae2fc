"""Answers: what a service says, in terms that every protocol can translate into its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from newel_kernel import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer of a model.

    A part is ``{"text": ...}``, ``{"thought": ...}``, ``{"redacted": ...}``, ``{"call": {"id", "name", "args"}}`` or
    ``{"block": ...}``, a block of the protocol's own.
    """

    parts: tuple[Json, ...] = ()
    #: ``end``, ``max``, ``stop``, ``tool``, ``safety``, or the protocol's own word.
    stop: str = "end"
    stop_sequence: str | None = None
    #: Tokens: `input` includes those from or to the cache (`cached`, `written`), `output` includes `reasoning`.
    usage: Mapping[str, int] = field(default_factory=lambda: {"input": 12, "output": 5})
    #: How many characters an event of a stream has.
    piece: int = 7
    #: What a stream has instead of a call's arguments.
    raw_args: str | None = None
    #: Seconds after each event.
    pause: float = 0.0
    #: Further events before the end, of the protocol's own.
    extra_events: tuple[Json, ...] = ()
    #: Whether events are cut in the middle of characters.
    split: bool = False
    #: What only one protocol knows.
    more: Mapping[str, Any] = field(default_factory=dict)

    def having(self, **changes: Any) -> Answer:
        """The same answer with some changes."""
        return replace(self, **changes)


def text(words: str, **more: Any) -> Json:
    """A part with text."""
    return {"text": words, **more}


def thought(words: str) -> Json:
    """A part with a thought."""
    return {"thought": words}


def call(name: str, args: Json, call_id: str | None = None) -> Json:
    """A part with a call."""
    return {"call": {"id": call_id or f"call_{name}", "name": name, "args": args}}


LONG = Answer(
    parts=(text("The quick brown fox jumps over the lazy dog, and then it does so again and again."),), piece=6
)


def common_answers() -> dict[str, Answer]:
    """Answers that every protocol can give, by name."""
    return dict(_common())


def _common() -> Iterator[tuple[str, Answer]]:
    rome, oslo = {"city": "Rome"}, {"city": "Oslo"}
    yield "text", Answer(parts=(text("Hello there."),))
    yield "long", LONG
    yield "unicode", Answer(parts=(text("Grüße, 世界 — 🦊🏳️‍🌈 مرحبا"),), piece=1, split=True)
    yield "empty", Answer()
    yield "one_call", Answer(parts=(call("weather", {"city": "Rome", "days": 3}),), stop="tool")
    yield "no_arguments", Answer(parts=(call("ping", {}),), stop="tool")
    yield "text_and_call", Answer(parts=(text("I will look it up."), call("weather", rome)), stop="tool")
    yield "parallel", Answer(parts=(call("weather", rome, "call_1"), call("weather", oslo, "call_2")), stop="tool")
    deep = {"city": "Llanfairpwllgwyngyll", "deep": {"list": [1, 2.5, None, True, 'x"y']}}
    yield "tiny_pieces", Answer(parts=(call("weather", deep),), stop="tool", piece=1)
    yield "big_arguments", Answer(parts=(call("save", {"text": "lorem ipsum " * 500}),), stop="tool", piece=11)
    numbers = {"big": 12345678901234567890, "float": 0.1, "negative": -3, "exponent": 1e30}
    yield "numbers", Answer(parts=(call("save", numbers),), stop="tool")
    yield "max_tokens", Answer(parts=(text("This is cut o"),), stop="max")
    yield "cached", Answer(parts=(text("Cached."),), usage={"input": 2000, "cached": 1500, "output": 7})
    yield "blanks", Answer(parts=(text("  \n indented\n"),))
    yield "huge", Answer(parts=(text("word " * 40_000),), piece=4000)
