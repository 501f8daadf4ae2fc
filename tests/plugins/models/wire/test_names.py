"""Names and ids: legal and unique on the way out, the session's own on the way back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel.models.wire.names import CallIds, Names, apart


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("listPets", "list Pets"),
        ("listURLs", "list URLs"),
        ("getPRsOfUser", "get PRs Of User"),
        ("listHTTPErrors", "list HTTP Errors"),
        ("getIDOf", "get ID Of"),
        ("DNSServer2Name", "DNS Server2 Name"),
        ("HTTPStatus", "HTTP Status"),
        ("plain_name", "plain_name"),
    ],
)
def test_words_of_a_name_meet_at_capitals(name: str, words: str) -> None:
    assert apart(name, " ") == words


@given(st.lists(st.text(max_size=90), unique=True, max_size=20))
def test_names_are_legal_unique_and_come_back(names: list[str]) -> None:
    spelt = Names()
    out = [spelt.out(name) for name in names]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in out)
    assert len(set(out)) == len(names)
    assert [spelt.back(name) for name in out] == names


def test_a_spelling_is_the_same_in_every_request() -> None:
    assert Names().out("files.read:now") == Names().out("files.read:now")
    assert Names().out("plain_name-1") == "plain_name-1"
    assert Names().back("stranger") == "stranger"


@given(st.lists(st.sampled_from([None, "a", "a.b", "x" * 70, "call_1"]), max_size=12))
def test_ids_are_legal_unique_and_paired(ids: list[str | None]) -> None:
    sent = CallIds(40)
    calls = [sent.call(one, f"t{number}") for number, one in enumerate(ids)]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", one) for one in calls)
    assert len(set(calls)) == len(ids)
    assert [sent.result(one, f"t{number}") for number, one in enumerate(ids)] == calls
    assert sent.result("a", "t0") is None


def test_the_same_id_in_two_turns_is_two_ids() -> None:
    sent = CallIds()
    first = sent.call("c", "add")
    assert sent.result("c", "add") == first
    second = sent.call("c", "add")
    assert second != first
    assert list(sent.unanswered()) == [(second, "add")]
    assert sent.result("c", "add") is None
