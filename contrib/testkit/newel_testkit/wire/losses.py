"""Losses: the parts of a request that its body does not express."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from newel.models.wire.signatures import owner_of
from newel_testkit.wire.reading import Item, Reading, media_mark, same_name
from newel_testkit.wire.requests import WireRequest
from newel_testkit.wire.setting_losses import setting_losses
from newel_types import Content, FunctionCall, FunctionResponse, Part

_MCP = [("type", "text"), ("type", "image"), ("type", "resource"), ("isError", False)]


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that was not sent, or was sent differently."""

    #: Its kind, as in `Wire.unsayable`: ``seed``, ``media:audio``.
    what: str
    text: str


def losses(case: WireRequest, reading: Reading, protocol: str) -> Iterator[Loss]:
    """What is lost of a request, whether or not the protocol could express it."""
    for text in _system(case.config.get("system_instruction")):
        if text.strip() and text.strip() not in reading.system:
            yield Loss("system", f"the system instruction {text[:30]!r}")
    yield from _Contents(reading, protocol).losses(case.typed(protocol))
    for what, text in setting_losses(case.config, reading, protocol):
        yield Loss(what, text)
    if case.cache is not None and not reading.cached:
        yield Loss("caching", "the cache markers")


def _system(system: Any) -> list[str]:
    if isinstance(system, str):
        return [system]
    parts = system.get("parts", ()) if isinstance(system, dict) else system or ()
    return [part["text"] for part in parts]


class _Contents:
    """Compares the contents of a request with the items of its body."""

    def __init__(self, reading: Reading, protocol: str) -> None:
        self._reading, self._protocol = reading, protocol
        self._calls = list(reading.of("model", "call"))
        self._results = list(reading.of("user", "result"))
        self._media = [item.text for item in reading.items if item.kind == "media"]
        self._media += [mark for result in self._results for mark in result.media]
        #: How far the texts of each role were found, in letters, and the calls, by number.
        self._spots = {"user": 0, "model": 0}
        self._at = 0
        self._pairs: list[tuple[FunctionCall, Item]] = []
        self._answered: set[int] = set()

    def losses(self, contents: list[Content]) -> Iterator[Loss]:
        """What the request or the answer has lost."""
        for content in contents:
            role: Literal["user", "model"] = "model" if content.role == "model" else "user"
            for part in content.parts or ():
                if part.thought:
                    yield from self._thought(part)
                elif part.function_call is not None:
                    yield from self._call(part.function_call, part)
                elif part.function_response is not None:
                    yield from self._result(part.function_response)
                elif part.text is None:
                    yield from self._medium(part, role)
                elif part.text.strip():
                    yield from self._text(part.text.strip(), role)

    def _text(self, text: str, role: Literal["user", "model"]) -> Iterator[Loss]:
        whole = self._reading.text(role)
        spot = whole.find(text, self._spots[role])
        if spot < 0:
            yield Loss("text", f"the text {text[:30]!r} of {role}{' (out of order)' if text in whole else ''}")
        else:
            self._spots[role] = spot

    def _thought(self, part: Part) -> Iterator[Loss]:
        thoughts = [item for item in self._reading.of("model", "thought") if item.text == part.text]
        own = owner_of(part) == self._protocol
        signature = (part.thought_signature or b"").decode("latin-1")
        if own and not any(item.signature == signature for item in thoughts):
            yield Loss("own thought", f"the thought {str(part.text)[:20]!r} with its signature")
        elif not own and part.thought_signature and thoughts:
            yield Loss("own thought", f"the foreign thought {str(part.text)[:20]!r} was sent as one of this provider")

    def _call(self, call: FunctionCall, part: Part) -> Iterator[Loss]:
        args = call.args or {}
        match = next((n for n in range(self._at, len(self._calls)) if _is_call(self._calls[n], call)), None)
        if match is None:
            yield Loss("call", f"the call {call.name}({args})")
            return
        self._at = match + 1
        sent = self._calls[match]
        self._pairs.append((call, sent))
        if self._protocol == "gemini" and part.thought_signature and sent.signature is None:
            yield Loss("signature", f"the signature of the call {call.name}")

    def _result(self, response: FunctionResponse) -> Iterator[Loss]:
        pair = next((n for n, (call, _) in enumerate(self._pairs) if self._answers(n, call, response)), None)
        if pair is None:
            return
        self._answered.add(pair)
        result = self._sent_result(pair, response)
        if result is None:
            yield Loss("result", f"the result of {response.name}")
            return
        for leaf in _leaves(response.response):
            if not any(one in result.text or json.dumps(one)[1:-1] in result.text for one in _spelt(leaf)):
                yield Loss("result", f"{leaf!r} in the result of {response.name}")
        if result.error is False and set(response.response or ()) == {"error"}:
            yield Loss("result error", f"that the result of {response.name} is an error")
        for inner in response.parts or ():
            kind, mark, _ = _medium_of(inner)
            if mark not in self._media:
                yield Loss(f"media:{kind.partition('/')[0]}", f"{kind} in the result of {response.name}")
            elif mark not in result.media:
                yield Loss("media in results", f"that {kind} belongs to the result of {response.name}")

    def _answers(self, number: int, call: FunctionCall, response: FunctionResponse) -> bool:
        return number not in self._answered and (call.id, call.name) == (response.id, response.name)

    def _sent_result(self, pair: int, response: FunctionResponse) -> Item | None:
        """The result that was sent for the call of that number."""
        sent = self._pairs[pair][1]
        if sent.id is None:  # by name, in their order
            same = [item for item in self._results if item.name == response.name]
            before = [n for n in sorted(self._answered) if self._pairs[n][0].name == response.name]
            place = len(before) - 1
        else:
            same = [item for item in self._results if item.id == sent.id]
            place = [n for n, (_, one) in enumerate(self._pairs) if one.id == sent.id].index(pair)
        return same[place] if place < len(same) else None

    def _medium(self, part: Part, role: str) -> Iterator[Loss]:
        kind, mark, data = _medium_of(part)
        text = data.decode("utf-8", "replace") if kind.startswith("text/") else None
        everything = self._reading.text("user") + self._reading.text("model")
        if {mark, mark.replace("audio/mpeg", "audio/mp3"), f"text:{text}"} & set(self._media):
            return
        if text is None or text not in everything:
            uri = f"media:uri:{kind}" if part.file_data is not None else f"media:{kind.partition('/')[0]}"
            yield Loss("media:model" if role == "model" else uri, f"{kind} of {role}")


def _is_call(item: Item, call: FunctionCall) -> bool:
    return same_name(str(call.name), str(item.name)) and item.args == (call.args or {})


def _medium_of(part: Any) -> tuple[str, str, bytes]:
    """Kind, mark and bytes of media; of a file elsewhere, its address is the mark."""
    if part.inline_data is not None:
        kind = part.inline_data.mime_type.partition(";")[0].lower()
        return kind, media_mark(kind, part.inline_data.data), part.inline_data.data
    return part.file_data.mime_type, part.file_data.file_uri, b""


def _leaves(value: Any) -> Iterator[Any]:
    """The plain values within a result, without the marks of MCP."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if (key, inner) not in _MCP:
                yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _spelt(leaf: Any) -> Collection[str]:
    if leaf is None:
        return ("null", "None")
    return (str(leaf).lower(), str(leaf)) if isinstance(leaf, bool) else (str(leaf),)
