"""What is masked: patterns by kind, and the rules that keep digests, paths and prose out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["email", "api_key", "token", "private_key", "secret"]
#: Decides on a match; the second argument is the text's key in a dict, or empty.
Accepts = Callable[[re.Match[str], str], bool]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Finds values of `kind`: the group ``value`` of `regex` if it has one, else the whole match."""

    kind: Kind
    regex: re.Pattern[str]
    #: Texts without any of these cannot match; a plain search for them is much cheaper than the pattern.
    needs: tuple[str, ...] = ()
    accepts: Accepts | None = None


#: Names before a long hexadecimal number that make it a digest, which a model must be able to repeat.
_DIGEST = re.compile(
    r"(?:sha-?\d*|md5|blake\w*|commit|digest|checksum|etag|hash|revision|rev|tree|parent|merge|integrity|index)"
    r"[\"'\])]*\s*[:=@ -]?\s*[\"'(\[]*$",
    re.IGNORECASE,
)
_WORDS = (
    r"(?:api[_-]?key|(?:client|app|shared)?[_-]?secret(?:[_-]?(?:access)?[_-]?key)?|"
    r"(?:access|auth|refresh|bearer)[_-]?token|passw(?:or)?d|pwd)"
)
_ASSIGNED = r"[A-Za-z0-9+/_.~!#$%^&*-]{12,}=*"
_KEY = re.compile(rf"(?:\w+[_-])?{_WORDS}", re.IGNORECASE)
_VALUE = re.compile(_ASSIGNED)
_BEFORE = 24


def is_named_secret(name: str, text: str) -> bool:
    """Whether `text` is a secret because of its key `name`: ``{"client_secret": "..."}``."""
    return _KEY.fullmatch(name) is not None and _VALUE.fullmatch(text) is not None and _is_mixed(text)


def _is_mixed(value: str) -> bool:
    """Two digits and a letter: words and names of variables rarely have them."""
    return len(re.findall("[0-9]", value)) >= 2 and re.search("[A-Za-z]", value) is not None


def _has_digits(match: re.Match[str], _: str) -> bool:
    return re.search("[0-9]", match.group()) is not None


def _has_mixed_value(match: re.Match[str], _: str) -> bool:
    return _is_mixed(match.group("value"))


def _before(match: re.Match[str], name: str) -> str:
    """The few characters before a match; a dict's key counts as what precedes its value."""
    start = match.start()
    before = match.string[max(0, start - _BEFORE) : start]
    return f"{name}: {before}" if start < _BEFORE else before


def _is_random_hex(match: re.Match[str], name: str) -> bool:
    """Neither a number nor a repetition, nor labelled as a digest, nor part of a path."""
    value, before = match.group(), _before(match, name)
    if value.isdecimal() or value.isalpha() or len(set(value.lower())) < 8:
        return False
    return not (before.endswith(("/", "@")) or _DIGEST.search(before))


def _is_random_base64(match: re.Match[str], name: str) -> bool:
    """Upper case, lower case and digits, well mixed; words, paths, identifiers and data URIs are not."""
    value, before = match.group(), _before(match, name)
    if not (re.search("[A-Z]", value) and re.search("[a-z]", value) and len(re.findall("[0-9]", value)) >= 3):
        return False
    if before.endswith(("base64,", "/", ".")) or _DIGEST.search(before):
        return False
    # 40 random characters have some 20 runs of one letter case or of digits; a path or a name has few.
    return len(re.findall("[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+", value)) * 5 >= len(value) * 2


def _is_address(match: re.Match[str], _: str) -> bool:
    """Not the ``git@host:`` of a repository's address."""
    return not (match.group().startswith("git@") and match.string[match.end() : match.end() + 1] in (":", "/"))


PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "private_key",
        re.compile(r"-----BEGIN (?P<name>[A-Z ]{0,30}PRIVATE KEY)-----.{0,10000}?-----END (?P=name)-----", re.DOTALL),
        needs=("PRIVATE KEY-----",),
    ),
    Pattern(
        "token",
        re.compile(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
        needs=("eyJ",),
    ),
    Pattern(
        "token",
        re.compile(r"\b[Bb](?:earer|EARER)\s+(?P<value>[A-Za-z0-9._~+/-]{16,}=*)"),
        needs=("earer", "EARER"),
        accepts=_has_mixed_value,
    ),
    Pattern(
        "api_key",
        re.compile(
            r"(?<![A-Za-z0-9])(?:"
            r"sk-[A-Za-z0-9_-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|"
            r"AIza[A-Za-z0-9_-]{35}|"
            r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{20,}|"
            r"A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])|"
            r"xox[abeoprs]-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{20,})"
        ),
        needs=("sk-", "k_live_", "k_test_", "AIza", "gh", "glpat-", "KIA", "SIA", "xox", "hf_"),
        accepts=_has_digits,
    ),
    Pattern(
        "secret",
        re.compile(
            rf"(?<![A-Za-z]){_WORDS}[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?(?P<value>{_ASSIGNED})(?![\w(\[])",
            re.IGNORECASE,
        ),
        accepts=_has_mixed_value,
    ),
    Pattern(
        "secret",
        re.compile(r"(?<![\w+-])(?:[0-9a-f]{32,512}|[0-9A-F]{32,512})(?![\w+-])"),
        accepts=_is_random_hex,
    ),
    Pattern(
        "secret",
        re.compile(r"(?<![\w+/-])[A-Za-z0-9+/_-]{40,512}={0,2}(?![\w+/-])"),
        accepts=_is_random_base64,
    ),
    Pattern(
        "email",
        re.compile(
            r"(?<![\w.+-])[\w.+'-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}"
        ),
        needs=("@",),
        accepts=_is_address,
    ),
)
