"""Which language a text is in, by its script and its most common words. Good for sentences, not for single words."""

from __future__ import annotations

import re
from collections import Counter

_WORDS = {
    "en": "the and of to is in that it you for on with are this was have not be as at by from",
    "de": "der die und das ist nicht ich sie es ein eine zu mit den von auf für im sich auch dem wird",
    "fr": "le la les et est un une des du que pas pour dans qui sur au avec ce il elle vous nous sont",
    "es": "el la los las y es un una de que no por para en con se su del lo como pero está",
    "it": "il lo la gli e è un una di che non per in con si del della sono come più anche questo",
    "pt": "o a os as e é um uma de que não por para em com se do da são como mais está você",
    "nl": "de het een en is niet dat van in op te zijn met voor je ik aan er ook maar om wordt",
    "pl": "i w nie na się z do to że jest o jak co po ale za od czy są być",
    "sv": "och att det som en på är av för med den till inte om ett har jag vi kan var",
}
_SETS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_SCRIPTS = (
    ("ja", r"[\u3040-\u30ff]"),
    ("ko", r"[\uac00-\ud7af]"),
    ("zh", r"[\u4e00-\u9fff]"),
    ("ru", r"[\u0400-\u04ff]"),
    ("ar", r"[\u0600-\u06ff]"),
    ("he", r"[\u0590-\u05ff]"),
    ("th", r"[\u0e00-\u0e7f]"),
    ("el", r"[\u0370-\u03ff]"),
    ("hi", r"[\u0900-\u097f]"),
)
LANGUAGES = (*_SETS, *(name for name, _ in _SCRIPTS))


def language_of(text: str) -> str | None:
    """The code of the language; None if nothing indicates one."""
    letters = sum(char.isalpha() for char in text)
    for name, pattern in _SCRIPTS:
        # A few kana make Chinese characters Japanese; any other script must make up a good part of the text.
        if len(re.findall(pattern, text)) > letters * (0.05 if name == "ja" else 0.3):
            return name
    words = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    scores = {language: sum(words[word] for word in common) for language, common in _SETS.items()}
    best = max(scores, key=lambda language: scores[language])
    return best if scores[best] else None
