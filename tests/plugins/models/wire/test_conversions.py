"""Conversions: kept for contents that cannot change, and never mixed up."""

from __future__ import annotations

from newel.models.wire.conversions import Conversions
from newel_kernel import Event, freeze_event
from newel_types import Content, Part, SharedContents


class Words:
    made = 0

    def __init__(self, texts: list[str] | None = None) -> None:
        self.texts = texts or []

    def add(self, content: Content) -> None:
        Words.made += 1
        self.texts.append(content.parts[0].text)

    def copy(self) -> Words:
        return Words([*self.texts])


def _frozen(text: str) -> Content:
    event = Event(author="user", content=Content(role="user", parts=[Part(text=text)]))
    return freeze_event(event).content


def test_a_turn_converts_what_is_new_and_an_edit_converts_anew() -> None:
    kept: Conversions[Words] = Conversions(2)
    history = SharedContents([_frozen("a"), _frozen("b")])
    Words.made = 0
    assert kept.of(history, Words).texts == ["a", "b"]
    history.append(_frozen("c"))
    assert kept.of(history, Words).texts == ["a", "b", "c"]
    assert Words.made == 3
    shorter = SharedContents([*history.frozen()[:1], _frozen("z")])
    assert kept.of(shorter, Words).texts == ["a", "z"]
    history[1].parts[0].text = "B"
    assert kept.of(history, Words).texts == ["a", "B", "c"]
    assert kept.of(SharedContents([]), Words).texts == []


def test_what_may_change_is_never_kept() -> None:
    kept: Conversions[Words] = Conversions()
    content = Content(role="user", parts=[Part(text="a")])
    assert kept.of([content], Words).texts == ["a"]
    content.parts[0].text = "b"
    assert kept.of([content], Words).texts == ["b"]
