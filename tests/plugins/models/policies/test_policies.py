"""Policies around networked models, in a composition and without one."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest

from newel.agents import LlmAgent, RunConfig, StreamingMode
from newel.contexts.usages import COST
from newel.models import LlmRequest, LlmResponse
from newel.models.kinds import ModelPolicy, ModelProvider
from newel.models.policies import model_retries
from newel.models.policies.chain import policed
from newel.models.policies.model_retries import Schedule, Settings
from newel.models.policies.model_traffic import Bounds, Gate
from newel.models.remote import RemoteLlm
from newel.models.wire.answer import Answer
from newel.models.wire.service import Service
from newel.models.wire.usage import token_usage
from newel.runners import Runner
from newel_compose import compose
from newel_kernel import ModelError, hookimpl, seam
from newel_types import Content, FinishReason, GenerateContentConfig, HttpOptions, HttpRetryOptions, Part

SERVICE = Service("parrot", "polly")
BUSY = SERVICE.refused(429, "busy")
QUICK = {"model_retries": {"initial_delay": 0.001}}


class Parrot(RemoteLlm):
    """Says what it was scripted to say: a text, an error to raise, or a list of chunks that may end in an error."""

    provider = "parrot"
    model: str = "polly"
    script: list[Any]
    calls: int = 0

    async def _answers(self, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        step = self.script[min(self.calls, len(self.script) - 1)]
        self.calls += 1
        for one in step if isinstance(step, list) else [step]:
            if isinstance(one, Exception):
                raise one
            if isinstance(one, float):
                await asyncio.sleep(one)
                continue
            if isinstance(step, list):
                yield LlmResponse(content=Content(role="model", parts=[Part(text=one)]), partial=True)
                continue
            answer = Answer("parrot")
            answer.text(one)
            usage = token_usage(prompt=1000, output=10, cached=300)
            yield answer.response("end", {"end": FinishReason.STOP}, usage=usage, model_version=self.model)


def request(**config: Any) -> LlmRequest:
    return LlmRequest(contents=[Content(role="user", parts=[Part(text="hi")])], config=GenerateContentConfig(**config))


def ask(model: Any, llm_request: LlmRequest | None = None, stream: bool = False) -> list[LlmResponse]:
    async def collect() -> list[LlmResponse]:
        return [one async for one in model.generate_content_async(llm_request or request(), stream=stream)]

    return asyncio.run(collect())


def distribution(**settings: Any) -> Path:
    """The file of `standard` with other settings."""
    text = json.dumps({"name": "x", "extends": "standard", "settings": {**QUICK, **settings}})
    with NamedTemporaryFile("w", suffix=".yaml", delete=False) as file:
        file.write(text)
    return Path(file.name)


def within(model: Any, **settings: Any) -> Any:
    return policed(compose(distribution(**settings)), model)


def words(responses: list[LlmResponse]) -> list[str]:
    return [response.content.parts[0].text for response in responses]


@pytest.fixture(autouse=True)
def _no_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda low, high: low)


@pytest.mark.parametrize("composed", [True, False])
def test_what_may_help_is_tried_again(composed: bool) -> None:
    model = Parrot(script=[BUSY, SERVICE.unreachable("reset"), "Hello"])
    assert words(ask(within(model) if composed else model)) == ["Hello"]
    assert model.calls == 3


def test_there_is_one_layer_of_retries() -> None:
    model = Parrot(script=[BUSY])
    with pytest.raises(ModelError):
        ask(within(model))
    assert model.calls == 4


@pytest.mark.parametrize("error", [SERVICE.refused(400, "no"), SERVICE.refused(408, "no"), SERVICE.too_slow("all")])
def test_what_cannot_help_is_not_tried_again(error: ModelError) -> None:
    model = Parrot(script=[error, "Hello"])
    with pytest.raises(ModelError) as caught:
        ask(within(model))
    assert caught.value is error
    assert model.calls == 1


def test_nothing_is_repeated_after_a_chunk_went_out() -> None:
    model = Parrot(script=[["Hel", SERVICE.cut_short()], "Hello"])
    with pytest.raises(ModelError, match="broke off"):
        ask(within(model), stream=True)
    assert model.calls == 1


def test_options_of_the_model_and_of_the_request_go_before_the_settings() -> None:
    model = Parrot(script=[BUSY], retry_options=HttpRetryOptions(attempts=2, initial_delay=0.001))
    with pytest.raises(ModelError):
        ask(within(model))
    assert model.calls == 2
    with pytest.raises(ModelError):
        ask(within(model), request(http_options=HttpOptions(retry_options=HttpRetryOptions(attempts=1))))
    assert model.calls == 3


def test_delays_grow_have_full_jitter_and_obey_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule.of(Settings(attempts=9, initial_delay=1, max_delay=5, longest_wait=10))
    monkeypatch.setattr(random, "uniform", lambda low, high: (low, high))
    assert [schedule.delay(BUSY, n) for n in (1, 2, 3, 4)] == [(0, 1), (0, 2), (0, 4), (0, 5)]
    monkeypatch.setattr(random, "uniform", lambda low, high: low)
    assert schedule.delay(SERVICE.refused(503, "", {"retry-after": "7"}), 1) == 7
    assert schedule.delay(SERVICE.refused(503, "", {"retry-after": "700"}), 1) is None
    assert schedule.delay(BUSY, 9) is None
    assert model_retries.Settings().attempts == 4


def test_a_call_that_takes_too_long_ends_and_is_closed() -> None:
    model = Parrot(script=[["a", 30.0]])
    with pytest.raises(ModelError, match=r"no complete answer within 0\.05 s"):
        ask(within(model), request(http_options=HttpOptions(timeout=50)), stream=True)
    with pytest.raises(ModelError, match=r"within 0\.02 s"):
        ask(within(Parrot(script=[["a", 30.0]]), model_timeouts={"total": 0.02}), stream=True)


def _with_others(settings: dict[str, Any], **models: Any) -> Any:
    class Plugin:
        @hookimpl
        def register_model_providers(self) -> list[ModelProvider]:
            return [ModelProvider(name=name, create=lambda _, m=model: m) for name, model in models.items()]

    return compose(distribution(**settings), plugins=[Plugin()])


def test_another_model_answers_where_one_fails() -> None:
    first, second = Parrot(script=[SERVICE.refused(401, "no")]), Parrot(model="lora", script=["Hi from Lora"])
    composed = _with_others({"model_fallbacks": {"models": {"parrot:polly": ["lora:"]}}}, lora=second)
    assert words(ask(policed(composed, first))) == ["Hi from Lora"]
    refused = Parrot(script=[SERVICE.refused(400, "no")])
    with pytest.raises(ModelError, match="400"):
        ask(policed(composed, refused))


def test_what_a_call_cost_is_with_its_tokens() -> None:
    class Claude(Parrot):
        provider = "anthropic"
        model: str = "claude-sonnet-4-5"

    [response] = ask(within(Claude(script=["Hello"])))
    # 700 fresh tokens at $3, 300 read at $0.30 and 10 written at $15 a million
    assert getattr(response.usage_metadata, COST) == pytest.approx((700 * 3 + 300 * 0.3 + 10 * 15) / 1e6)
    [unknown] = ask(within(Parrot(script=["Hello"])))
    assert not hasattr(unknown.usage_metadata, COST)


def test_a_provider_gets_as_many_requests_at_once_as_the_settings_say() -> None:
    async def run() -> int:
        model = within(Parrot(script=["x"]), model_traffic={"providers": {"parrot": {"concurrent": 2}}})
        running, most = 0, 0
        inner = Parrot._answers
        llm_requests = [request() for _ in range(6)]

        async def counting(self: Parrot, llm_request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            async for one in inner(self, llm_request, stream):
                yield one
            running -= 1

        async def one(llm_request: LlmRequest) -> None:
            async for _ in model.generate_content_async(llm_request):
                pass

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Parrot, "_answers", counting)
            await asyncio.gather(*map(one, llm_requests))
        return most

    assert asyncio.run(run()) == 2


def test_requests_of_a_minute_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [100.0], []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(seam, "monotonic", lambda: now[0])
    monkeypatch.setattr(asyncio, "sleep", sleep)

    async def run() -> None:
        gate = Gate(Bounds(per_minute=2))
        for _ in range(4):
            await gate.enter()
            now[0] += 1

    asyncio.run(run())
    assert slept == [58.0]


def test_policies_stand_in_the_order_that_they_ask_for() -> None:
    composed = compose("standard")
    names = [policy.name for policy in composed.registry.all(ModelPolicy)]
    names.remove("malformed_calls")
    names.remove("empty_answers")
    assert names.pop(0) == "cassettes"
    inner = ("prompt_caching", "model_retries", "model_traffic", "model_timeouts")
    assert names == ["model_errors", "model_costs", "model_fallbacks", *inner]


def test_an_agents_model_is_within_the_policies_of_its_composition() -> None:
    model = Parrot(script=[BUSY, "Hello"])
    agent = LlmAgent(name="root", model=model)
    run = Runner(app_name="t", agent=agent, auto_create_session=True, distribution=str(distribution()))

    async def collect() -> list[Any]:
        return [event async for event in run.run_async(user_id="u", session_id="s", new_message="hi")]

    [event] = asyncio.run(collect())
    assert event.content.parts[0].text == "Hello"
    assert model.calls == 2


Events = list[Any]


def run_agent(model: Any, tools: Any = (), distribution_: str = "", stream: bool = False) -> tuple[Events, Events]:
    """What a run yields, with the error that ended it last, and the events of its session."""
    agent = LlmAgent(name="root", model=model, tools=list(tools))
    run = Runner(app_name="t", agent=agent, auto_create_session=True, distribution=distribution_ or str(distribution()))
    config = RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE)
    seen: list[Any] = []

    async def collect() -> list[Any]:
        try:
            async for event in run.run_async(user_id="u", session_id="s", new_message="hi", run_config=config):
                seen.append(event)
        except ModelError as error:
            seen.append(error)
        session = await run.session_service.get_session(app_name="t", user_id="u", session_id="s")
        return list(session.events)

    return seen, asyncio.run(collect())


def test_a_failure_is_the_callers_error_and_an_event_of_the_session() -> None:
    error = SERVICE.refused(401, "bad key", {"request-id": "req_1"})
    [partial, raised], stored = run_agent(Parrot(script=[["Hel", error]]), stream=True)
    assert partial.partial
    assert raised is error
    assert [event.author for event in stored] == ["user", "root"]
    assert (stored[1].error_code, stored[1].error_message) == ("401", str(error))
    assert stored[1].custom_metadata["model_error"]["request_id"] == "req_1"
    assert stored[1].content is None


@pytest.mark.parametrize("name", ["standard", "adk", "minimal"])
def test_arguments_that_are_no_object_come_back_to_the_model(name: str) -> None:
    """Where no policy would give them back, nothing of the answer is called."""

    class Careless(Parrot):
        async def _answers(self, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
            self.calls += 1
            answer = Answer("parrot")
            if self.calls == 1:
                answer.call("c1", "add", '{"a": 1, "b": 2}')
                answer.call(None, "add", '{"a": 1, "b"')
            else:
                answer.text(str(request.contents[-1].parts[1].function_response.response["error"]))
            yield answer.response("end", {"end": FinishReason.STOP})

    made: list[tuple[int, int]] = []

    def add(a: int = 0, b: int = 0) -> int:
        made.append((a, b))
        return a + b

    events, _ = run_agent(Careless(script=[]), [add], name)
    assert events[0].error_code == "MALFORMED_FUNCTION_CALL"
    if name != "standard":
        assert made == []
        assert events[0].content is None
        return
    assert made == [(1, 2)]
    assert "was not called: the arguments are not valid JSON" in events[-1].content.parts[0].text
