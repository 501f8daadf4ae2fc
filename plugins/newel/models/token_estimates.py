"""Token estimates: about how many tokens a model's tokenizer makes of a text, without the tokenizer.

A text's characters are counted by class, and each class has a weight for each family of tokenizers. The weights were
fitted to the tokens of English, code, JSON, logs, Chinese, Japanese and Korean; tests/plugins/models hold samples with
the counts of real tokenizers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from newel.models.media_estimates import tokens_of_media
from newel_types import Content, Part

#: Of a longer text, this many pieces of this many characters are counted: enough, and the cost has a limit.
_PIECES = 8
_PIECE = 512
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]+")
_KANA = re.compile("[\u3041-\u30ff]+")
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_WIDE = re.compile("[\u3000-\u3020\uff00-\uffef]+")
_BEYOND = re.compile("[^\x00-\x7f]+")


def _mask(is_of_class: Callable[[str], bool]) -> bytes:
    """For `bytes.translate`: 1 for each byte of a class of characters, and 0 for any other."""
    return bytes(byte < 128 and is_of_class(chr(byte)) for byte in range(256))


_LETTERS = _mask(str.isalpha)
_DIGITS = _mask(str.isdigit)
_MARKS = _mask(lambda one: "!" <= one <= "~" and not one.isalnum())
_NEWLINES = _mask(lambda one: one == "\n")
_as_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, default=str).encode


class Weights(NamedTuple):
    """Tokens for each word, letter, number, digit, run of punctuation, and so on."""

    word: float
    letter: float
    number: float
    digit: float
    run: float
    mark: float
    newline: float
    han: float
    kana: float
    hangul: float
    wide: float
    other: float


#: By the name of a provider. Claude's are of the last tokenizer that was published; other providers' are near o200k.
_CLAUDE = Weights(0.451, 0.137, 0.875, 0.176, 0.971, 0.061, 0.991, 0.881, 0.928, 1.297, 0.989, 2.343)
_GEMINI = Weights(0.660, 0.070, 0.106, 1.026, 0.972, 0.091, 1.948, 0.561, 0.348, 0.771, 1.503, 0.869)
_O200K = Weights(0.590, 0.096, 0.825, 0.362, 0.520, 0.220, 1.321, 0.769, 0.637, 0.708, 0.712, 1.049)
_FAMILIES = {"anthropic": _CLAUDE, "gcp.gemini": _GEMINI, "gemini": _GEMINI}
#: No text has more tokens than this for each character, so that a sum of lengths is a cheap bound.
MOST = 2.4


def tokens_of_text(text: str, provider: str = "") -> int:
    """About how many tokens a text has for models of this provider (`BaseLlm.provider_name`)."""
    length = len(text)
    if length <= _PIECES * _PIECE:
        return round(_tokens(text, _FAMILIES.get(provider, _O200K)))
    step = (length - _PIECE) / (_PIECES - 1)
    sample = "".join([text[int(at * step) : int(at * step) + _PIECE] for at in range(_PIECES)])
    return round(_tokens(sample, _FAMILIES.get(provider, _O200K)) * length / len(sample))


def _tokens(text: str, weights: Weights) -> float:
    plain = text.isascii()
    characters = (text if plain else _BEYOND.sub(" ", text)).encode("ascii")
    letters, words = _counts(characters, _LETTERS)
    digits, numbers = _counts(characters, _DIGITS)
    marks, runs = _counts(characters, _MARKS)
    _, newlines = _counts(characters, _NEWLINES)
    total = (
        weights.word * words
        + weights.letter * letters
        + weights.number * numbers
        + weights.digit * digits
        + weights.run * runs
        + weights.mark * marks
        + weights.newline * newlines
    )
    return total if plain else total + _beyond_ascii(text, weights)


def _counts(characters: bytes, mask: bytes) -> tuple[int, int]:
    """How many characters are of a class, and how many runs they form. As one number, all are compared at once."""
    ones = int.from_bytes(characters.translate(mask), "little")
    return ones.bit_count(), (ones ^ (ones & (ones << 8))).bit_count()


def _beyond_ascii(text: str, weights: Weights) -> float:
    classes = ((_HAN, weights.han), (_KANA, weights.kana), (_HANGUL, weights.hangul), (_WIDE, weights.wide))
    total, known = 0.0, 0
    for pattern, weight in classes:
        count = sum(map(len, pattern.findall(text)))
        total += weight * count
        known += count
    return total + weights.other * (sum(map(len, _BEYOND.findall(text))) - known)


def tokens_of_content(content: Content, provider: str = "") -> int:
    """About how many tokens a message has: its texts, its calls and their results as JSON, its media."""
    return sum([4 + tokens_of_part(part, provider) for part in content.parts or ()])


def tokens_of_part(part: Part, provider: str = "") -> int:
    """About how many tokens a part of a message has."""
    return tokens_of_text(text, provider) if (text := words_of(part)) is not None else tokens_of_media(part, provider)


def words_of(part: Part) -> str | None:
    """What a part says: its text, or its call or result as JSON or the only text in it; None for media."""
    if part.text is not None:
        return part.text
    if part.function_call is not None:
        return f"{part.function_call.name} {_as_json(part.function_call.args or {})}"
    if part.function_response is not None:
        value = part.function_response.response or {}
        only = next(iter(value.values())) if len(value) == 1 else None
        return f"{part.function_response.name} {only if isinstance(only, str) else _as_json(value)}"
    if part.executable_code is not None:
        return part.executable_code.code or ""
    if part.code_execution_result is not None:
        return part.code_execution_result.output or ""
    return None
