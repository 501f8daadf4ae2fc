"""Words of a text for matching: split, without stop words, lightly stemmed, and with a few kindred words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OPERATION = re.compile(r"\d\s*([+*/×÷-])\s*[\d(]")
_OPERATIONS = {"+": "add", "-": "subtract", "*": "multiply", "×": "multiply", "/": "divide", "÷": "divide"}


def word_set(text: str) -> frozenset[str]:
    """The words of `text`, for a set written down as prose."""
    return frozenset(text.split())


STOP = word_set(
    """a about above after again all also am an and any anyone anything are as at be because been before being
    between both but by can could did do does doing don down each every everything few for from further had has
    have having he hello hey hi her here hers him his how i if in into is it its itself just let like ll m may
    me might more most much must my myself no nor not now of off on once only or other our ours out over own
    please re s same she should so some something such t tell than thank thanks that the their them then there
    these they thing this those through to too under until up us ve very want was we well were what when where
    whether which while who whom whose why will with would you your yours given use using used return returns
    returned arg args argument arguments optional default param params parameter parameters str int float bool
    dict string e g eg get gets got give gives show shows tool function call calls called calling need needs"""
)
#: Words that stand for the same thing; the first of a row is its key.
_KIN = (
    ("weather", "forecast", "temperature", "rain", "raining", "rainy", "sunny", "hot", "cold", "umbrella", "snow"),
    ("add", "sum", "plus", "addition", "total"),
    ("subtract", "minus", "difference", "subtraction"),
    ("multiply", "product", "multiplication", "multiplied"),
    ("divide", "quotient", "division", "divided"),
    ("calculate", "calculator", "compute", "evaluate", "math", "arithmetic"),
    ("time", "clock", "hour", "oclock"),
    ("search", "find", "lookup", "look", "google", "browse"),
    ("create", "make", "new", "generate"),
    ("delete", "remove", "erase"),
    ("buy", "purchase", "order"),
    ("email", "mail"),
    ("dice", "die", "roll"),
    ("price", "cost", "costs"),
    ("convert", "exchange", "conversion"),
    ("bill", "billing", "invoice", "payment", "charge", "charged"),
    ("translate", "translation", "translator"),
    ("remind", "reminder", "alarm"),
    ("greet", "greeting", "welcome"),
    ("book", "reserve", "booking", "reservation"),
)


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """`word` without its usual endings; two forms of one word mostly get the same stem."""
    word = word.lower()
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending, least in (("ing", 6), ("ion", 7), ("ed", 5), ("ly", 5)):
        if word.endswith(ending) and len(word) >= least:
            word = word[: -len(ending)]
            break
    word = word.removesuffix("e") if len(word) > 3 else word
    if len(word) > 2 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] + "i" if len(word) > 2 and word.endswith("y") else word


_KEYS = {stem(word): row[0] for row in _KIN for word in row}


def words(text: str) -> list[str]:
    """The words of a text or an identifier, in order and lower case."""
    return [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", text))]


def says_nothing(token: str) -> bool:
    """Whether a token of a text consists of stop words: "how's" does."""
    return all(word in STOP for word in words(token))


def stems(text: str) -> list[str]:
    """The stems of the words that say something, each once; signs between numbers count as words."""
    signs = [_OPERATIONS[sign] for sign in _OPERATION.findall(text)]
    if signs:
        signs.append("calculate")
    result = (stem(word) for word in (*words(text), *signs) if word not in STOP and not word.isdigit())
    return list(dict.fromkeys(result))


def overlap(word: str, others: Iterable[str]) -> float:
    """How well the stem `word` fits `others`: 1 if it is among them, less for a kindred word, else 0."""
    others = frozenset(others)
    if word in others:
        return 1.0
    key = _KEYS.get(word)
    return 0.7 if key is not None and any(_KEYS.get(other) == key for other in others) else 0.0
