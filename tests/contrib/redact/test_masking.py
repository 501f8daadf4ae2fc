"""What is masked and what is left alone."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any, get_args

import pytest

from newel_redact.masking import Masker, Tally
from newel_redact.patterns import Kind
from newel_types import Content, FrozenContent, Part, freeze

ALL: Sequence[Kind] = get_args(Kind)
HEX = hashlib.sha256(b"a secret").hexdigest()
RANDOM = base64.b64encode(hashlib.sha256(b"another").digest()).decode()
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


def masked(value: Any, kinds: Sequence[Kind] = ALL) -> Any:
    return Masker(kinds, "<{kind}>").value(value, Tally())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to ann.b+c@mail.example.co.uk.", "write to <email>."),
        ("Ann <ann@example.com>, bob@example.org", "Ann <<email>>, <email>"),
        ("bob@example.com-ish", "<email>-ish"),
        ("key sk-proj-Ab12Cd34Ef56Gh78Ij90 end", "key <api key> end"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "<api key>"),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "<api key>"),
        ("AKIAIOSFODNN7EXAMPLE", "<api key>"),
        ("Authorization: Bearer abcDEF123456ghiJKL789", "Authorization: Bearer <token>"),
        (f"jwt={JWT}", "jwt=<token>"),
        ("client_secret = 'a1b2-c3d4-e5f6'", "client_secret = '<secret>'"),
        ('{"DB_PASSWORD": "correct1horse2battery"}', '{"DB_PASSWORD": "<secret>"}'),
        (f"the value is {HEX}", "the value is <secret>"),
        (f"the value is {RANDOM}", "the value is <secret>"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nrest",
            "<private key>\nrest",
        ),
    ],
)
def test_masks(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "nothing to see at 12:30 @ noon",
        "git@github.com:newel/newel.git",
        f"commit {HEX[:40]}",
        f"sha256:{HEX}",
        f'"etag": "{HEX[:32]}"',
        f"objects/{HEX}",
        "0" * 64,
        "12345678901234567890123456789012",
        "6f1c1f0e-7d0c-4c55-9f0e-0a3b1c2d3e4f",
        f"data:image/png;base64,{RANDOM}",
        "plugins/newel/models/GoogleClient2024/HandlerOfRequests01/index",
        "A_VERY_LONG_CONSTANT_NAME_WITH_MANY_WORDS_2024_01",
        "pneumonoultramicroscopicsilicovolcanoconiosis" * 2,
        "bearer of good news and of certificates",
        "password = get_password_from_the_vault_2024(name)",
        "the task-force sk-iing trip",
        "max_tokens: 4096, next_page_token: abc",
    ],
)
def test_leaves_alone(text: str) -> None:
    assert masked(text) is text


def test_only_the_kinds_asked_for() -> None:
    text = f"ann@example.com {HEX}"
    assert masked(text, ["email"]) == f"<email> {HEX}"
    assert masked(text, ["secret"]) == "ann@example.com <secret>"


def test_data_is_masked_at_any_depth_and_not_edited() -> None:
    data = {
        "to": ["ann@example.com", {"cc": ("bob@example.com", 3)}],
        "client_secret": "abc123def456",
        "commit": HEX[:40],
        "ann@example.com": 1,
        "bob@example.com": 2,
    }
    before = repr(data)
    assert masked(data) == {
        "to": ["<email>", {"cc": ["<email>", 3]}],
        "client_secret": "<secret>",
        "commit": HEX[:40],
        "<email>": 1,
        "<email> (2)": 2,
    }
    assert repr(data) == before


def test_data_without_findings_is_the_same_object() -> None:
    data = {"a": [1, 2.5, None, True, {"b": "text"}], "c": b"bytes"}
    assert masked(data) is data


def test_masked_text_is_not_masked_again() -> None:
    masker, tally = Masker(ALL, "[{kind} masked]"), Tally()
    once = masker.value({"password": "abc123def456", "text": "ann@example.com"}, tally)
    assert masker.value(once, tally) is once
    assert tally.counts == {"email": 1, "secret": 1}


def test_a_value_counts_once() -> None:
    tally = Tally()
    masker = Masker(ALL, "-")
    for text in ("ann@example.com and ann@example.com", "ann@example.com", "bob@example.com"):
        masker.text(text, tally)
    assert tally.counts == {"email": 2}


def test_contents_are_copied_where_something_is_masked_and_only_there() -> None:
    masker = Masker(ALL, "<{kind}>")
    parts = [
        Part(text="ann@example.com"),
        Part.from_function_call(name="send", args={"to": "ann@example.com"}),
        Part.from_function_response(name="send", response={"sent": ["ann@example.com"]}),
        Part(text="ann@example.com", thought=True, thought_signature=b"signed"),
    ]
    content = freeze(Content(role="user", parts=parts))
    before = content.model_dump_json()
    result = masker.content(content, Tally())
    assert result is not None
    assert result.parts is not None
    assert result.__class__ is Content
    assert [result.parts[0].text, result.parts[3].text] == ["<email>", "ann@example.com"]
    assert result.parts[1].function_call is not None
    assert result.parts[1].function_call.args == {"to": "<email>"}
    assert result.parts[2].function_response is not None
    assert result.parts[2].function_response.response == {"sent": ["<email>"]}
    assert content.__class__ is FrozenContent
    assert content.model_dump_json() == before
    assert masker.content(freeze(Content(role="user", parts=[Part(text="hello")])), Tally()) is None


@pytest.mark.parametrize("unit", ["a@", "'", "eyJ", "sk-", "Bearer ", "a1B2", "-----BEGIN PRIVATE KEY-----", "a.b@c."])
def test_time_grows_with_the_text_alone(unit: str) -> None:
    # Takes minutes, not milliseconds, where a pattern backtracks without bound.
    masked(unit * (200_000 // len(unit)))
