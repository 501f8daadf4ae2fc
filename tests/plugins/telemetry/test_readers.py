"""What Langfuse, Phoenix, Logfire and Braintrust read of an exported trace: model, tokens, cost, session, messages.

`readers.json` says which attributes each of them reads, the first that is there, and where that is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.models.policies.model_costs import cost_of
from newel_testkit.wire import Answer, WireServer
from newel_testkit.wire.answers import call, text
from newel_testkit.wire.environment import ELSEWHERE, variables
from newel_types import GenerateContentResponseUsageMetadata

READERS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("readers.json").read_text())
MODELS = {
    "anthropic": "anthropic:claude-sonnet-4-5",
    "openai": "openai:gpt-4o",
    "gemini": "gemini:gemini-2.5-flash",
}
#: The providers that tell what they wrote to a cache.
WRITES = ("anthropic",)


def read(attributes: Mapping[str, Any], names: list[str]) -> Any:
    """What a reader finds: the first attribute that is there."""
    return next((attributes[name] for name in names if name in attributes), None)


def brew(leaf: str) -> str:
    """Brews tea."""
    return f"a pot of {leaf}"


@pytest.fixture(params=["", "gen_ai_latest_experimental"], ids=["1.37", "0.1.0"])
def generation(request: Any, monkeypatch: Any) -> str:
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", request.param)
    return str(request.param)


@pytest.fixture(params=MODELS)
def spans(
    request: Any, generation: str, monkeypatch: Any, play: Any, recording: Any
) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The spans of a turn with a tool, by the provider's real SDK, with content."""
    provider = str(request.param)
    with WireServer() as server:
        for name in ELSEWHERE:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables(server.base, (provider,), "key-of-a-test-0123456789").items():
            monkeypatch.setenv(name, value)
        written = {"written": 100} if provider in WRITES else {}
        server.script(
            Answer(parts=(call("brew", {"leaf": "oolong"}),), stop="tool"),
            Answer(parts=(text("Here you are."),), usage={"input": 1_000, "output": 50, "cached": 400, **written}),
        )
        agent = LlmAgent(name="waiter", model=MODELS[provider], instruction="Serve tea.", tools=[brew])
        play(agent, distribution="standard", capture_content="spans")
        yield provider, [dict(span.attributes or {}) for span in recording.spans]


def answer_of(spans: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The span of the last model call."""
    return [one for one in spans if "gen_ai.request.model" in one][-1]


def check_numbers(facts: dict[str, Any], provider: str, attributes: Mapping[str, Any]) -> None:
    """The model, the session, the tokens and the cost."""
    model = MODELS[provider].partition(":")[2]
    assert read(attributes, facts["model"]) == model
    assert read(attributes, facts["session"]) == "s1"
    assert read(attributes, facts["input_tokens"]) == 1_000
    assert read(attributes, facts["output_tokens"]) == 50
    if "cached_tokens" in facts:
        assert read(attributes, facts["cached_tokens"]) == 400
        assert read(attributes, facts["written_tokens"]) == (100 if provider in WRITES else None)
    if "cost" in facts:
        usage = GenerateContentResponseUsageMetadata(
            prompt_token_count=1_000, candidates_token_count=50, cached_content_token_count=400
        )
        if provider in WRITES:
            usage = usage.model_copy(update={"cache_write_token_count": 100})
        cost = cost_of(provider, model, usage)
        assert cost is not None
        assert read(attributes, facts["cost"]) == pytest.approx(float(cost))
    assert [name for name in facts.get("needed", ()) if name not in attributes] == []


def check_messages(facts: dict[str, Any], attributes: Mapping[str, Any]) -> None:
    """What was said, and by whom."""
    messages = json.loads(read(attributes, facts["input"]))
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[0]["parts"] == [{"type": "text", "content": "tea"}]
    (asked,) = messages[1]["parts"]
    (result,) = messages[2]["parts"]
    assert (asked["type"], asked["name"], asked["arguments"]) == ("tool_call", "brew", {"leaf": "oolong"})
    assert (result["type"], result["id"]) == ("tool_call_response", asked["id"])
    (answer,) = json.loads(read(attributes, facts["output"]))
    assert (answer["role"], answer["finish_reason"]) == ("assistant", "stop")
    assert answer["parts"] == [{"type": "text", "content": "Here you are."}]
    if "instruction" in facts:
        assert "Serve tea." in json.loads(read(attributes, facts["instruction"]))[0]["content"]


def check_kinds(facts: dict[str, Any], provider: str, all_spans: list[Mapping[str, Any]]) -> None:
    """Which spans are calls of models, agents and tools."""
    kinds = dict(facts["kind"])
    attribute = kinds.pop("attribute")
    expected = set(facts["kinds"].values())
    if "generate_content" not in kinds and provider == "gemini":
        expected.remove(kinds["chat"])  # what the reader does with the other name is not documented
    assert {kinds[one[attribute]] for one in all_spans if one.get(attribute) in kinds} == expected


def test_each_reader_finds_what_it_shows(spans: tuple[str, list[Mapping[str, Any]]]) -> None:
    provider, all_spans = spans
    for facts in READERS.values():
        check_numbers(facts, provider, answer_of(all_spans))
        check_messages(facts, answer_of(all_spans))
        if "kind" in facts:
            check_kinds(facts, provider, all_spans)
    for reader in ("langfuse", "phoenix"):  # these put whole traces into a session
        assert {read(one, READERS[reader]["session"]) for one in all_spans} == {"s1"}
