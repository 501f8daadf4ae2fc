"""Texts for string properties: which clue of the prompt suits a name and a format."""

from __future__ import annotations

import re
from typing import Any

from newel.models.demo.clues import Clues, Phrase
from newel.models.demo.words import word_set, words

#: The words of a property's name -> the prepositions that lead to its value.
_ROLES: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = (
    (word_set("from source origin start departure sender base"), ("from",)),
    (word_set("to target destination dest recipient receiver arrival language lang"), ("to", "into")),
    (word_set("city location place country where region town area"), ("in", "at", "near", "for", "of")),
    (
        word_set("name user username person who customer author guest"),
        ("named", "called", "is", "am", "for", "by", "as"),
    ),
    (word_set("topic subject about theme"), ("about", "on", "of")),
    (word_set("title"), ("titled", "called", "named")),
)
_FREE = word_set(
    """text message query question request prompt content contents note body goal task input sentence
    description reason comment summary instruction instructions fact memory command search keyword keywords
    answer reply response expression formula"""
)
_WHOLE = word_set("request question prompt goal message instruction instructions")
_SUM = re.compile(r"(?<!\d)[-(]{0,9}\d[\d.\s()+*/^%×÷-]{0,200}[\d)]")
_FORMS: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = (
    (frozenset(("email", "mail")), re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")),
    (frozenset(("url", "uri", "link", "website")), re.compile(r"https?://[^\s\"'<>]+[^\s\"'<>.,;!?)]")),
    (
        frozenset(("date", "day", "when", "deadline", "due")),
        re.compile(
            r"\d{4}-\d{2}-\d{2}|\b(?:(?:next )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
            r"today|tomorrow|tonight|yesterday)\b",
            re.I,
        ),
    ),
    (frozenset(("time", "hour")), re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?\b|\b\d{1,2}\s?[ap]m\b", re.I)),
    (frozenset(("expression", "formula", "calculation", "equation")), _SUM),
    (frozenset(("phone",)), re.compile(r"\+?\d[\d ()-]{5,}\d")),
)
_FORMATS = {"email": "email", "uri": "url", "url": "url", "date": "date", "date-time": "date", "time": "time"}
_EXAMPLE = re.compile(r"(?:e\.g\.|for example|such as)[,:]?\s+[\"'“`]?([A-Z][\w-]*(?: [A-Z][\w-]*)*|\w+)", re.I)
#: Formats that need the full form; "tomorrow" would not fit.
_STRICT = {"date": re.compile(r"\d{4}-\d{2}-\d{2}"), "date-time": re.compile(r"\d{4}-\d{2}-\d{2}T\S+")}


def is_free_text(name: str) -> bool:
    """Whether the property takes a sentence rather than a name."""
    return not _FREE.isdisjoint(words(name))


def fill_string(name: str, schema: dict[str, Any], clues: Clues, *, required: bool) -> str | None:
    """The text that the prompt gives for a property, fitting its pattern and length; None if it gives none."""
    name_words = frozenset(words(name))
    if (form := _form(name_words, schema)) is not None:
        match = form.search(clues.text)
        if match is not None:
            for phrase in clues.phrases:
                phrase.used = phrase.used or phrase.text == match[0]
            return match[0].strip()
        if "format" in schema or not required:
            return None
    if (pattern := schema.get("pattern")) is not None:
        return _by_pattern(str(pattern), clues)
    text = _by_role(name_words, clues) or _by_meaning(name_words, clues) or _next_phrase(clues)
    if text is None and required and not _is_optional_like(schema):
        text = clues.rest() or _example(schema)
    return _fitted(text, schema)


def _is_optional_like(schema: dict[str, Any]) -> bool:
    return any(schema.get(key) is not None for key in ("default", "example", "examples"))


def _form(name_words: frozenset[str], schema: dict[str, Any]) -> re.Pattern[str] | None:
    format_name = schema.get("format")
    if format_name in _STRICT:
        return _STRICT[format_name]
    keys = {_FORMATS[format_name]} if format_name in _FORMATS else name_words
    return next((form for names, form in _FORMS if not names.isdisjoint(keys)), None)


def _by_pattern(pattern: str, clues: Clues) -> str | None:
    try:
        compiled = re.compile(pattern)
    except re.error:
        return None
    candidates = [p.text for p in clues.phrases] + re.findall(r"[^\s,;?!]+", clues.text)
    candidates += [candidate.upper() for candidate in candidates]
    return next((candidate for candidate in candidates if compiled.search(candidate)), None)


def _by_role(name_words: frozenset[str], clues: Clues) -> str | None:
    for names, leads in _ROLES:
        if names.isdisjoint(name_words):
            continue
        for lead in leads:
            for phrase in clues.phrases:
                if phrase.lead == lead and not phrase.used and not (phrase.address and "name" in name_words):
                    return _use(phrase)
        if leads == ("from",):
            return _before_to(clues)
    return None


def _before_to(clues: Clues) -> str | None:
    """The word before "to", as in "100 usd to eur"."""
    match = re.search(r"\b([^\W\d_]+) to\b", clues.text)
    return match[1] if match and match[1].lower() not in ("want", "like", "need", "have", "how") else None


def _by_meaning(name_words: frozenset[str], clues: Clues) -> str | None:
    """The text of a property that takes a sentence: a quoted text, or the prompt itself."""
    if name_words.isdisjoint(_FREE):
        return None
    for phrase in clues.phrases:
        if phrase.quoted and not phrase.used:
            return _use(phrase)
    return clues.text.strip() if name_words & _WHOLE else clues.remainder()


def _next_phrase(clues: Clues) -> str | None:
    """The best phrase left: quoted, a name, after a preposition, a capital at a sentence's start, or an address."""
    ranks = (
        [p for p in clues.phrases if p.quoted],
        [p for p in clues.phrases if p.name and not p.weak],
        [p for p in clues.phrases if not (p.name or p.quoted or p.address)],
        [p for p in clues.phrases if p.weak],
        [p for p in clues.phrases if p.address],
    )
    phrase = next((p for rank in ranks for p in rank if not p.used), None)
    return _use(phrase) if phrase is not None else None


def _use(phrase: Phrase) -> str:
    phrase.used = True
    return phrase.text


def _example(schema: dict[str, Any]) -> str | None:
    match = _EXAMPLE.search(str(schema.get("description", "")))
    return match[1] if match else None


def _fitted(text: str | None, schema: dict[str, Any]) -> str | None:
    if text is None:
        return None
    least, most = schema.get("minLength"), schema.get("maxLength")
    if least is not None and len(text) < int(least):
        return None
    return text[: int(most)] if most is not None else text
