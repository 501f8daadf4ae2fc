"""Cases over a live connection: turns, tools, speech, and what goes wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.agents import LlmAgent, SequentialAgent
from newel.evaluation import EvalConfig, evaluate
from newel.evaluation.base_eval_service import InferenceConfig, InferenceRequest, InferenceStatus
from newel.evaluation.eval_case import get_all_tool_calls_with_responses
from newel.evaluation.eval_config import LiveModelConfig
from newel.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from newel.evaluation.local_eval_service import LocalEvalService
from newel.evaluation.metrics.scoring import answer_of
from newel.evaluation.runs.options import RunOptions
from newel.testing import CLOSED, TURN_COMPLETE, ScriptedLiveModel, WaitFor
from newel_kernel import ConfigurationError, LlmResponse
from newel_testkit.live import Close, GeminiLiveServer, Wait
from newel_testkit.live import gemini_messages as says_gemini
from newel_types import Blob, Content, FunctionCall, GenerateContentResponseUsageMetadata, Part, Transcription

CALL = FunctionCall(id="c1", name="find", args={"q": "x"})


def says(text: str, finished: bool = True) -> LlmResponse:
    """A piece of speech with its words."""
    return LlmResponse(output_transcription=Transcription(text=text, finished=finished), partial=not finished)


def live(kit: Any, script: list[Any], *turns: Any, seconds: int = 5, **more: Any) -> Any:
    agent = kit.agent()
    agent.model = ScriptedLiveModel(script)
    config = EvalConfig(
        criteria={"response_match_score": 1.0}, live_model_config=LiveModelConfig(timeout_seconds=seconds), **more
    )
    run = asyncio.run(evaluate(agent, kit.eval_set(kit.case("a", *turns)), config))
    return run.units[0], agent.model


def test_each_message_is_a_turn_of_one_connection(kit: Any) -> None:
    usage = GenerateContentResponseUsageMetadata(prompt_token_count=7, candidates_token_count=3)
    script = [
        WaitFor("content"),
        CALL,
        WaitFor("results"),
        "x is a letter",
        LlmResponse(turn_complete=True, usage_metadata=usage),
        WaitFor("content"),
        "hi there",
        TURN_COMPLETE,
    ]
    unit, model = live(kit, script, kit.turn("look up x", "x is a letter"), kit.turn("hello", "hi there"))
    assert (unit.outcome, unit.result.error_message) == ("passed", None)
    first, second = [one.actual_invocation for one in unit.result.eval_metric_result_per_invocation]
    ((call, response),) = get_all_tool_calls_with_responses(first.intermediate_data)
    assert (call.args, response.response) == ({"q": "x"}, {"hits": "x"})
    assert [answer_of(one) for one in (first, second)] == ["x is a letter", "hi there"]
    assert first.invocation_id != second.invocation_id
    assert first.app_details.get_developer_instructions("helper").startswith("Help.")
    assert first.duration >= first.tool_duration > 0
    assert unit.accounts.of("agent").input_tokens == 7
    assert [span.kind for span in unit.accounts.spans[0]] == ["model", "tool"]
    assert len(model.connections) == 1
    assert len(model.left) == 1


def test_what_is_spoken_is_judged_by_its_words(kit: Any) -> None:
    script = [
        WaitFor("content"),
        Blob(data=b"\1\0" * 80, mime_type="audio/pcm;rate=24000"),
        says("hi ", finished=False),
        says("there", finished=False),
        TURN_COMPLETE,
        WaitFor("content"),
        says("hi", finished=False),
        says("hi there"),
        TURN_COMPLETE,
    ]
    unit, _ = live(kit, script, kit.turn("hello", "hi there"), kit.turn("hello", "hi there"))
    assert (unit.outcome, unit.result.error_message) == ("passed", None)


def test_a_user_who_speaks_is_heard(kit: Any) -> None:
    def speech(prompt: str) -> LlmResponse:
        sound = Blob(mime_type="audio/pcm;rate=16000", data=b"\2\0" * 16000)
        return LlmResponse(content=Content(role="model", parts=[Part(inline_data=sound)]))

    script = [WaitFor("activity_end"), "hi there", TURN_COMPLETE]
    user = {"type": "llm_audio", "audio_model": kit.Judge(speech).address}
    unit, model = live(kit, script, kit.turn("hello", "hi there"), user_simulator_config=user)
    assert (unit.outcome, unit.result.error_message) == ("passed", None)
    connection = model.connections[0]
    assert b"".join(blob.data for blob in connection.of("blob")) == b"\2\0" * 16000
    assert connection.of("content") == []
    turn = unit.result.eval_metric_result_per_invocation[0].actual_invocation
    assert turn.user_content.parts[0].text == "hello"


@pytest.mark.parametrize(
    ("script", "seconds", "error"),
    [
        ([WaitFor("content"), "hi"], 1, "did not end its turn within 1 seconds"),
        ([WaitFor("content"), LlmResponse(error_code="OVERLOAD", error_message="busy")], 5, "OVERLOAD: busy"),
        ([RuntimeError("no such model")], 5, "no such model"),
        ([WaitFor("content"), "hi there", TURN_COMPLETE, RuntimeError("gone")], 5, "gone"),
        (
            [WaitFor("content"), "hi there", CLOSED],
            5,
            "turn 1: the live connection ended before the agent had ended its",
        ),
        ([WaitFor("content"), "hi there", TURN_COMPLETE, WaitFor("content"), CLOSED], 5, "turn 2: the live connection"),
        ([WaitFor("content"), "hi there", TURN_COMPLETE, CLOSED], 5, "turn 2: the live connection ended before the"),
    ],
)
def test_what_goes_wrong_fails_the_case(script: list[Any], seconds: int, error: str, kit: Any) -> None:
    turns = (kit.turn("hello", "hi there"), kit.turn("hello", "hi there"))
    unit, _ = live(kit, script, *turns, seconds=seconds)
    assert unit.outcome == "failed"
    assert error in (unit.result.error_message or "")


def test_a_connection_may_end_once_all_is_said(kit: Any) -> None:
    unit, _ = live(kit, [WaitFor("content"), "hi there", TURN_COMPLETE, CLOSED], kit.turn("hello", "hi there"))
    assert (unit.outcome, unit.result.error_message) == ("passed", None)


def test_the_last_agent_of_a_sequence_ends_the_run_and_its_turn(kit: Any) -> None:
    script = [WaitFor("content"), FunctionCall(name="task_completed", args={}), WaitFor("results"), TURN_COMPLETE]
    agent = SequentialAgent(name="steps", sub_agents=[kit.agent()])
    agent.sub_agents[0].model = ScriptedLiveModel(script)
    config = EvalConfig(criteria={"response_match_score": 0.0}, live_model_config=LiveModelConfig(timeout_seconds=5))
    run = asyncio.run(evaluate(agent, kit.eval_set(kit.case("a", kit.turn("hello", "hi there"))), config))
    assert (run.units[0].outcome, run.units[0].result.error_message) == ("passed", None)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("said", [[], ["hi "]])
def test_the_task_of_an_agent_that_others_follow_ends_no_turn(kit: Any, said: list[str], nested: bool) -> None:
    first = [WaitFor("content"), FunctionCall(name="task_completed", args={}), WaitFor("results"), TURN_COMPLETE]
    steps = [
        LlmAgent(name=name, model=ScriptedLiveModel(script))
        for name, script in (("one", first), ("two", [*said, CLOSED]))
    ]
    head = SequentialAgent(name="head", sub_agents=[steps[0]]) if nested else steps[0]
    agent = SequentialAgent(name="steps", sub_agents=[head, steps[1]])
    config = EvalConfig(criteria={"response_match_score": 0.0}, live_model_config=LiveModelConfig(timeout_seconds=5))
    (unit,) = asyncio.run(evaluate(agent, kit.eval_set(kit.case("a", kit.turn("hello", "hi there"))), config)).units
    assert unit.outcome == "failed"
    assert "turn 1: the live connection ended before the agent had ended its turn" in unit.result.error_message


def test_a_service_that_goes_away_in_the_middle_of_a_turn_fails_the_case(
    kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a socket, through the real SDK: what the agent has said by then is no answer."""
    turns = [Wait("clientContent"), says_gemini.text("hi there"), says_gemini.turn_complete()]
    with GeminiLiveServer(api_key="test-key-0123456789") as server:
        for name, value in (("GOOGLE_GEMINI_BASE_URL", server.url), ("SSL_CERT_FILE", server.ca_file)):
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key-0123456789")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        server.connection(*turns, Wait("clientContent"), says_gemini.text("hi "), Close(1000))
        agent = LlmAgent(name="helper", model="gemini-live-2.5-flash")
        config = EvalConfig(
            criteria={"response_match_score": 1.0}, live_model_config=LiveModelConfig(timeout_seconds=20)
        )
        case = kit.case("a", kit.turn("hello", "hi there"), kit.turn("hello", "hi there"))
        (unit,) = asyncio.run(evaluate(agent, kit.eval_set(case), config)).units
    assert unit.outcome == "failed"
    assert "turn 2: the live connection ended before the agent had ended its turn" in unit.result.error_message


def test_the_service_runs_live_where_it_is_asked_to(kit: Any) -> None:
    agent = kit.agent()
    agent.model = ScriptedLiveModel([WaitFor("content"), "hi there", TURN_COMPLETE])
    manager = InMemoryEvalSetsManager()
    manager.store("demo", kit.eval_set(kit.case("a", kit.turn("hello"))))
    service = LocalEvalService(root_agent=agent, eval_sets_manager=manager)
    config = InferenceConfig(use_live=True, live_timeout_seconds=5)

    async def run() -> Any:
        request = InferenceRequest(app_name="demo", eval_set_id="set1", inference_config=config)
        return [result async for result in service.perform_inference(request)]

    (result,) = asyncio.run(run())
    assert (result.status, result.error_message) == (InferenceStatus.SUCCESS, None)
    assert answer_of(result.inferences[0]) == "hi there"
    assert result.session_details.events


def test_a_cassette_holds_no_live_connection(kit: Any) -> None:
    config = EvalConfig(live_model_config=LiveModelConfig())
    with pytest.raises(ConfigurationError, match="leave --cassette out"):
        asyncio.run(
            evaluate(
                kit.agent(),
                kit.eval_set(kit.case("a", kit.turn("hello"))),
                config,
                options=RunOptions(cassette="record", cassette_file="x"),
            )
        )
