"""ROUGE-1 and its stemmer."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.evaluation.metrics.response_match.rouge import rouge_1, tokens
from newel.evaluation.metrics.response_match.stemmer import stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("dies", "die"),
        ("cats", "cat"),
        ("feed", "feed"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("motoring", "motor"),
        ("sing", "sing"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("filing", "file"),
        ("happy", "happi"),
        ("enjoy", "enjoy"),
        ("relational", "relat"),
        ("vietnamization", "vietnam"),
        ("formalize", "formal"),
        ("electrical", "electr"),
        ("adoption", "adopt"),
        ("probate", "probat"),
        ("controll", "control"),
        ("dying", "die"),
        ("news", "news"),
        ("proceed", "proceed"),
        ("flies", "fli"),
        ("dried", "dri"),
        ("died", "die"),
        ("apologies", "apolog"),
    ],
)
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


@given(st.text(alphabet=string.ascii_lowercase, max_size=24))
def test_a_stem_is_never_longer_by_more_than_the_e_of_a_repair(word: str) -> None:
    assert len(stem(word)) <= len(word) + 1
    assert stem(word) == stem(word)


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_score_is_symmetric_and_between_nothing_and_one(a: str, b: str) -> None:
    score = rouge_1(a, b)
    assert 0.0 <= score <= 1.0
    assert score == pytest.approx(rouge_1(b, a))
    assert (rouge_1(a, a) == 1.0) == bool(tokens(a))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's 3.50", ["it", "s", "3", "50"]),
        ("天气hot今", ["天", "气", "hot", "今"]),
        ("Привет, мир", ["привет", "мир"]),
        ("café", ["café"]),
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
        ("x ี", ["x", "ี"]),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def test_repeated_words_count_as_often_as_both_have_them() -> None:
    assert rouge_1("the the the the", "the cat") == pytest.approx(2 * (1 / 4) * (1 / 2) / (1 / 4 + 1 / 2))
