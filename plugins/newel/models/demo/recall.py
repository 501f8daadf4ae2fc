"""Recall: the earlier sentence of the conversation that best answers a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from newel.models.demo.wording import sentence
from newel.models.demo.words import stem, stems, word_set, words
from newel.models.offline.conversation import Conversation, Remark

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]?")
_ASKING = word_set(
    """what which who whom whose where when why how do does did is are am was were can could will would should
    have has had may"""
)
#: A question with these words is about the conversation, not the world.
_PAST = re.compile(
    r"\b(earlier|before|previous(?:ly)?|remember|recall|remind me (?:what|which|who|where)|said|told|mentioned|"
    r"did (?:i|you)|so far|last (?:time|answer|result))\b",
    re.IGNORECASE,
)
#: Words that ask about the conversation and say nothing about the subject of the question.
_EMPTY = frozenset(
    map(
        stem, word_set("earlier before previous previously remember recall remind said say told tell mention last know")
    )
)


def is_question(text: str) -> bool:
    """Whether `text` asks something."""
    first = words(text)[:1]
    return text.rstrip().endswith("?") or (bool(first) and first[0] in _ASKING) or _PAST.search(text) is not None


def asks_for_the_past(text: str) -> bool:
    """Whether `text` asks what was said or found before."""
    return is_question(text) and _PAST.search(text) is not None


def recall(text: str, conversation: Conversation) -> str | None:
    """The earlier sentence that shares most with the question, quoted with its speaker; None if no sentence does."""
    query = [word for word in stems(text) if word not in _EMPTY]
    about_me = not {"my", "i", "me", "mine"}.isdisjoint(words(text))
    best: tuple[float, str] | None = None
    for who, quote in _sentences([*conversation.earlier, *conversation.reports]):
        # Of equals, the latest counts: later statements replace earlier ones.
        fit = _fit(query, who, quote, about_me)
        if fit > 0 and (best is None or fit >= best[0]):
            best = (fit, _quoted(who, quote))
    return best[1] if best is not None else None


def _fit(query: list[str], who: str, text: str, about_me: bool) -> float:
    vocabulary = set(stems(text))
    shared = sum(1 for word in query if word in vocabulary)
    if not shared or shared * 2 < len(query):
        return 0.0
    mine = about_me and who == "user" and not {"my", "i", "im", "me"}.isdisjoint(words(text))
    return shared / len(query) + (0.5 if mine else 0.0)


def _sentences(remarks: Iterable[Remark]) -> Iterator[tuple[str, str]]:
    for remark in remarks:
        if remark.exchange is not None:
            # The arguments count: they are what the result is about.
            yield "tool", sentence(remark.exchange, with_arguments=True)
        elif remark.who != "model":  # its own answers only repeat what the others said
            for match in _SENTENCE.finditer(remark.text):
                text = match[0].strip()
                if text and not is_question(text):
                    yield remark.who, text


def _quoted(who: str, text: str) -> str:
    if who == "tool":
        return f"From an earlier tool call: {text}"
    if who == "user":
        return f'You said earlier: "{text}"'
    return f'{who} said earlier: "{text}"'
