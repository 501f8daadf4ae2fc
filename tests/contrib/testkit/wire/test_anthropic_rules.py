"""What the strict server refuses, as Anthropic's service does."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from newel_kernel import Json
from newel_testkit.wire.anthropic import signature
from newel_testkit.wire.anthropic_rules import check
from newel_testkit.wire.schemas import RefusedError

HEADERS = {"authorization": "Bearer x", "anthropic-version": "2026-10-21"}
USER = {"role": "user", "content": "Hi"}
USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
TOOL = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
PNG = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"\xff\xd8jpeg").decode()}
THINKS = {"type": "enabled", "budget_tokens": 2000}
FORGED = {"type": "thinking", "thinking": "x", "signature": "y"}
BOUNDED = {"type": "integer", "minimum": 1}
MARK = {"type": "ephemeral"}


def _says(role: str, *blocks: Json) -> Json:
    return {"role": role, "content": list(blocks)}


def _text(text: str, **more: Any) -> Json:
    return {"type": "text", "text": text, **more}


def _body(*messages: Json, **more: Any) -> Json:
    return {"model": "claude-sonnet-4-5", "max_tokens": 9000, "messages": [*(messages or (USER,))], **more}


@pytest.mark.parametrize(
    "body",
    [
        _body(),
        _body(USER, _says("assistant", USE), _says("user", RESULT, _text("And?")), tools=[TOOL]),
        _body(thinking={"type": "enabled", "budget_tokens": 1024}, temperature=1),
        _body(
            USER,
            _says("assistant", {"type": "thinking", "thinking": "", "signature": signature("")}, USE),
            _says("user", RESULT),
            tools=[TOOL],
            thinking={"type": "enabled", "budget_tokens": 1024},
        ),
        _body(tools=[{**TOOL, "cache_control": {**MARK, "ttl": "1h"}}], system=[_text("x", cache_control=MARK)]),
        _body(output_config={"format": {"type": "json_schema", "schema": {"type": "string"}}, "effort": "high"}),
    ],
)
def test_what_the_service_takes_is_taken(body: Json) -> None:
    check(body, HEADERS, {})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (_body(response_format={}), "Extra inputs"),
        (_body(max_tokens=True), "max_tokens"),
        (_body(model=""), "model"),
        (_body(temperature=1.2), "temperature"),
        (_body(temperature=0.2, top_p=0.3), "cannot both"),
        (_body(model="claude-opus-5", top_k=3), "not supported"),
        (_body(model="claude-opus-5", thinking={"type": "enabled", "budget_tokens": 2000}), "adaptive"),
        (_body(thinking={"type": "adaptive"}), "not supported"),
        (_body(thinking={"type": "enabled", "budget_tokens": 9000}), "greater than"),
        (_body(thinking=THINKS, tools=[TOOL], tool_choice={"type": "any"}), "force"),
        (_body(system=[_text(" ")]), "system"),
        (_body(tools=[TOOL, TOOL]), "unique"),
        (_body(tools=[{**TOOL, "name": "a.b"}]), "pattern"),
        (_body(tools=[{**TOOL, "input_schema": {"type": "OBJECT"}}]), "object"),
        (_body(tools=[{**TOOL, "input_schema": {"type": "object", "anyOf": [{}]}}]), "top level"),
        (_body(tool_choice={"type": "auto"}), "while providing tools"),
        (_body(_says("user", _text(" \n"))), "non-whitespace"),
        (_body(_says("assistant", _text("Hi")), USER), "first message"),
        (_body({"role": "system", "content": "x"}), "role"),
        (_body(USER, _says("assistant", USE), tools=[TOOL]), "without `tool_result`"),
        (_body(USER, _says("assistant", USE), _says("user", _text("x"), RESULT), tools=[TOOL]), "come first"),
        (_body(_says("user", RESULT), tools=[TOOL]), "unexpected"),
        (_body(USER, _says("assistant", USE), _says("user", RESULT, RESULT), tools=[TOOL]), "single result"),
        (_body(USER, _says("assistant", USE), _says("user", RESULT)), "must define tools"),
        (_body(USER, _says("assistant", FORGED, _text("z")), USER), "signature"),
        (_body(_says("user", {"type": "image", "source": PNG})), "does not match"),
        (_body(_says("user", {"type": "image", "source": {"type": "url", "url": "http://x"}})), "HTTPS"),
        (_body(stop_sequences=["\n"]), "non-whitespace"),
        (_body(_says("user", *[_text("x", cache_control=MARK)] * 5)), "maximum of 4"),
        (_body(_says("user", _text("x", cache_control=MARK), _text("y", cache_control={**MARK, "ttl": "1h"}))), "1h"),
        (_body(output_config={"format": {"type": "json_schema", "schema": BOUNDED}}), "minimum"),
        (_body(output_config={"effort": "minimal"}), "effort"),
    ],
)
def test_what_the_service_refuses_is_refused(body: Json, words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        check(body, HEADERS, {})


def test_a_request_needs_a_key_and_a_version() -> None:
    for name in HEADERS:
        with pytest.raises(RefusedError):
            check(_body(), {key: value for key, value in HEADERS.items() if key != name}, {})


def test_thoughts_of_a_step_go_back_as_they_came() -> None:
    thought = {"type": "thinking", "thinking": "x", "signature": signature("x")}
    other = {"type": "thinking", "thinking": "y", "signature": signature("y")}
    body = _body(
        USER,
        _says("assistant", thought, USE),
        _says("user", RESULT),
        tools=[TOOL],
        thinking={"type": "enabled", "budget_tokens": 1024},
    )
    check(body, HEADERS, {"a": [thought]})
    with pytest.raises(RefusedError, match="cannot be modified"):
        check(body, HEADERS, {"a": [other]})
