"""Cache marks of Claude: what was sent before is found again, in every conversation that grows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel import types
from newel.models.anthropic.cache_marks import mark
from newel.models.anthropic.messages import Messages
from newel.models.wire.cache_marks import CONTINUES, LIFETIME
from newel_kernel import Json, LlmRequest
from newel_testkit.wire.caller import Caller, call, model, result, tools, user

#: A mark looks for what is kept at its own place and at the 19 blocks before.
_LOOKBACK = 20


def _body(history: list[types.Content], continues: bool = True) -> Json:
    messages = Messages(None, lambda *_: None)  # type: ignore[arg-type] # no media
    for content in history:
        messages.add(content)
    body: Json = {
        "model": "claude-sonnet-4-5",
        "tools": [{"name": "f", "input_schema": {}}],
        "system": [{"type": "text", "text": "Be brief. " * 1000}],
        "messages": messages.finish(),
    }
    request = LlmRequest()
    request.stash[LIFETIME] = "5m"
    request.stash[CONTINUES] = continues
    mark(body, request)
    return body


def _blocks(body: Json) -> list[Json]:
    return [*body["tools"], *body["system"], *(block for message in body["messages"] for block in message["content"])]


def _plain(block: Json) -> Json:
    return {name: value for name, value in block.items() if name != "cache_control"}


class _Service:
    """Keeps the prefixes that are marked, and finds those that a mark can see."""

    def __init__(self) -> None:
        self._kept: set[str] = set()

    def found(self, body: Json) -> int:
        """How many blocks of the request's prompt were kept; the request leaves what it marks."""
        blocks = _blocks(body)
        prefixes = [str([_plain(block) for block in blocks[: end + 1]]) for end in range(len(blocks))]
        marks = [index for index, block in enumerate(blocks) if "cache_control" in block]
        assert len(marks) <= 4
        seen = {end for index in marks for end in range(max(0, index - _LOOKBACK + 1), index + 1)}
        found = max((end + 1 for end in seen if prefixes[end] in self._kept), default=0)
        self._kept |= {prefixes[index] for index in marks}
        return found


@st.composite
def _steps(draw: st.DrawFn) -> list[list[types.Content]]:
    """What each request adds to the history: the model's last answer, and results or the user's next message."""
    steps, number = [[user("Hello.")]], 0
    for _ in range(draw(st.integers(1, 8))):
        count = draw(st.one_of(st.just(0), st.integers(1, 3), st.integers(12, 30)))
        said = [types.Part(text="I look.")] if draw(st.booleans()) else []
        if not count:
            steps.append([model("An answer."), *(user(f"And {number}?") for _ in range(draw(st.integers(1, 2))))])
            number += 1
            continue
        ids = [f"c{number + index}" for index in range(count)]
        number += count
        results = [result("f", {"result": one}, one) for one in ids]
        steps.append([model(*said, *(call("f", {}, one) for one in ids)), *map(user, results)])
    return steps


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_steps())
def test_all_of_the_request_before_is_found_again(steps: list[list[types.Content]]) -> None:
    service, history, sent = _Service(), [], 0
    for added in steps:
        history = [*history, *added]
        body = _body(history)
        assert service.found(body) == sent
        sent = len(_blocks(body))


def test_a_request_that_none_continues_leaves_only_what_others_begin_with() -> None:
    blocks = _blocks(_body([user("Plan.")], continues=False))
    assert ["cache_control" in block for block in blocks] == [True, True, False]


@pytest.mark.parametrize(("repeated", "marked"), [(10, False), (1000, True)])
def test_a_prompt_too_short_to_be_cached_is_not_marked(claude: Caller, repeated: int, marked: bool) -> None:
    stash: dict[Any, object] = {LIFETIME: "1h"}
    body = claude.sent(user("Hi"), stash=stash, system_instruction="Be brief. " * repeated, tools=tools("f"))
    found = [block["cache_control"] for block in _blocks(body) if "cache_control" in block]
    assert found == ([{"type": "ephemeral", "ttl": "1h"}] * 3 if marked else [])
