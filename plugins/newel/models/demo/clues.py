"""What a prompt offers for arguments: numbers, quoted texts, names, words after a preposition, ``key=value``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from newel.models.demo.words import says_nothing, stem, word_set, words

_TOKEN = re.compile(r"\w+(?:['’.-]\w+)*")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)")
_NUMBER = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\d)")
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?://[^\s\"'<>]+[^\s\"'<>.,;!?)]")
#: Digits that are not numbers: in quoted text, dates, times, addresses.
_NO_NUMBER = re.compile("|".join((_QUOTED.pattern, _ADDRESS.pattern, r"\d{4}-\d{2}-\d{2}|\d{1,2}:\d{2}(?::\d{2})?")))
_PAIR = re.compile(r"\b([^\W\d]\w*)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s,;]+)|:\s+(\"[^\"]*\"|'[^']*'|[^\s,;][^,;\n]*))")
_NUMERALS = {
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}
LEADS = word_set("in for of to at from about on with named called by into near is am as titled")
#: They come before other words too, so only a name counts after them.
_NAMES_ONLY = frozenset(("is", "am", "as", "by", "with"))
_ARTICLES = word_set("the a an my your our this that some")
_JOINTS = frozenset(("and", "or"))
_DAYS = word_set("today tomorrow tonight yesterday monday tuesday wednesday thursday friday saturday sunday now")
_RUN = 4
_NEAR = 40


@dataclass(slots=True)
class Number:
    """A number, the stems of the words next to it, and whether an argument already uses it."""

    value: float
    beside: frozenset[str]
    used: bool = False


@dataclass(slots=True)
class Phrase:
    """A piece of text that may be an argument. `group` is shared by the members of an enumeration."""

    text: str
    lead: str
    group: int
    quoted: bool = False
    name: bool = False
    #: At the start of a sentence, where a capital says little.
    weak: bool = False
    #: An e-mail or web address.
    address: bool = False
    used: bool = False


class Clues:
    """The clues of a prompt. `vocabulary` holds the stems of the tool itself; they are not arguments."""

    def __init__(
        self, text: str, vocabulary: frozenset[str] = frozenset(), values: Mapping[str, Any] | None = None
    ) -> None:
        self.text = text
        self.vocabulary = vocabulary
        data = _json_object(text)
        self.values = {key_of(name): value for name, value in {**(values or {}), **_assignments(text), **data}.items()}
        if data:  # an agent used as a tool is asked in JSON; the values are the prompt
            self.text = text = " ".join(value for value in data.values() if isinstance(value, str)) or text
        self.numbers = _numbers(text)
        self.phrases = _quoted(text) + _Reader(text, vocabulary).read()

    def rest(self) -> str:
        """The prompt without the words that only chose the tool."""
        rest = [
            match[0]
            for match in _TOKEN.finditer(self.text)
            if not says_nothing(match[0])
            and match[0].lower() not in LEADS | _DAYS
            and stem(match[0]) not in self.vocabulary
            and not any(c.isdigit() for c in match[0])
        ]
        return " ".join(rest)

    def remainder(self) -> str:
        """The prompt from the first word that neither chose the tool nor is a stop word."""
        for match in _TOKEN.finditer(self.text):
            if not says_nothing(match[0]) and stem(match[0]) not in self.vocabulary:
                return self.text[match.start() :].strip().rstrip("?.!")
        return self.text.strip()


def key_of(name: str) -> str:
    """A property's name without case and separators."""
    return "".join(words(name))


def _json_object(text: str) -> dict[str, Any]:
    if not text.lstrip().startswith("{"):
        return {}
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _assignments(text: str) -> dict[str, Any]:
    """``key=value`` and ``key: value`` in the prompt."""
    if text.lstrip().startswith("{"):
        return {}
    return {match[1]: (match[2] or match[3]).strip("\"' ") for match in _PAIR.finditer(text)}


def _numbers(text: str) -> list[Number]:
    numbers: list[tuple[int, Number]] = []
    for match in _NUMBER.finditer(_NO_NUMBER.sub(lambda m: " " * len(m[0]), text)):
        value = float(match[0].replace(",", ""))
        if math.isfinite(value):
            numbers.append((match.start(), Number(value, _beside(text, match))))
    for match in _TOKEN.finditer(text):
        if (numeral := _NUMERALS.get(match[0].lower())) is not None:
            numbers.append((match.start(), Number(float(numeral), _beside(text, match))))
    return [number for _, number in sorted(numbers, key=lambda pair: pair[0])]


def _beside(text: str, match: re.Match[str]) -> frozenset[str]:
    """The stems of the word before and the word after."""
    before = words(text[max(0, match.start() - _NEAR) : match.start()])[-1:]
    return frozenset(map(stem, before + words(text[match.end() : match.end() + _NEAR])[:1]))


def _quoted(text: str) -> list[Phrase]:
    """Quoted texts and addresses (e-mail, web), which must not be split into words."""
    phrases: list[Phrase] = []
    for form in (_QUOTED, _ADDRESS):
        for match in form.finditer(text):
            before = words(text[max(0, match.start() - _NEAR) : match.start()])[-1:]
            lead = before[0] if before and before[0] in LEADS else ""
            quote = next(filter(None, match.groups()), match[0])
            phrases.append(Phrase(quote, lead, -1 - len(phrases), quoted=form is _QUOTED, address=form is _ADDRESS))
    return phrases


class _Reader:
    """Reads the names and the words after prepositions, token by token."""

    def __init__(self, text: str, vocabulary: frozenset[str]) -> None:
        self._text = _ADDRESS.sub(lambda m: "\n" * len(m[0]), _QUOTED.sub(lambda m: "\n" * len(m[0]), text))
        self._tokens = list(_TOKEN.finditer(self._text))
        self._vocabulary = vocabulary
        self._phrases: list[Phrase] = []
        self._at = 0
        self._lead = ""
        #: The phrase that an "and" or a comma may continue.
        self._open: Phrase | None = None

    def read(self) -> list[Phrase]:
        while self._at < len(self._tokens):
            self._step()
        return self._phrases

    def _step(self) -> None:
        word = self._word(self._at)
        lower = word.lower()
        if lower in _JOINTS and self._open is not None:
            self._at += 1
        elif lower in LEADS and not (self._is_name(self._at) and not self._starts_sentence(self._at)):
            self._lead, self._open = lower, None
            self._at += 1
        elif lower in _ARTICLES:
            self._at += 1
        elif self._is_name(self._at):
            self._take(self._run(name=True), name=True)
        elif self._may_begin(lower):
            self._take(self._run(name=False), name=False)
        else:
            self._lead, self._open = "", None
            self._at += 1

    def _may_begin(self, lower: str) -> bool:
        if not self._is_content(lower):
            return False
        return (bool(self._lead) and self._lead not in _NAMES_ONLY) or (self._open is not None and not self._open.name)

    def _take(self, end: int, *, name: bool) -> None:
        start = self._at
        text = self._text[self._tokens[start].start() : self._tokens[end - 1].end()]
        before = self._open if self._open is not None and self._open.name is name else None
        self._at = end
        if before is not None and not name and not self._closes(end):
            self._lead, self._open = "", None  # "in paris and tell me …" is not an enumeration
            return
        phrase = Phrase(
            text,
            before.lead if before else self._lead,
            before.group if before else len(self._phrases),
            name=name,
            weak=name and end - start == 1 and self._starts_sentence(start),
        )
        self._phrases.append(phrase)
        self._lead = ""
        self._open = phrase if self._continues(end) else None

    def _run(self, *, name: bool) -> int:
        end = self._at + 1
        while end < len(self._tokens) and end - self._at < _RUN and self._gap(end) == " ":
            lower = self._word(end).lower()
            fits = self._is_name(end) if name else self._is_content(lower) and not self._is_name(end)
            if not fits:
                break
            end += 1
        return end

    def _is_content(self, lower: str) -> bool:
        if says_nothing(lower) or lower in LEADS or lower in _JOINTS or lower in _NUMERALS:
            return False
        return not lower[0].isdigit() and stem(lower) not in self._vocabulary and lower not in _DAYS

    def _is_name(self, index: int) -> bool:
        word = self._word(index)
        if not word[0].isupper() or says_nothing(word) or word.lower() in _DAYS:
            return False
        if not self._starts_sentence(index):
            return True
        return len(word) > 1 and stem(word) not in self._vocabulary and word.lower() not in _NUMERALS

    def _word(self, index: int) -> str:
        return self._tokens[index][0]

    def _gap(self, index: int) -> str:
        return self._text[self._tokens[index - 1].end() : self._tokens[index].start()]

    def _starts_sentence(self, index: int) -> bool:
        return index == 0 or any(mark in self._gap(index) for mark in ".?!:\n")

    def _closes(self, end: int) -> bool:
        return end >= len(self._tokens) or self._gap(end).strip() != "" or self._word(end).lower() in _JOINTS

    def _continues(self, end: int) -> bool:
        return end < len(self._tokens) and (self._gap(end).strip() == "," or self._word(end).lower() in _JOINTS)
