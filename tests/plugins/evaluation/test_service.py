"""LocalEvalService: stores, stages, failures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.evaluation.base_eval_service import (
    EvaluateConfig,
    EvaluateRequest,
    InferenceConfig,
    InferenceRequest,
    InferenceResult,
    InferenceStatus,
)
from newel.evaluation.eval_case import SessionInput, get_all_tool_responses
from newel.evaluation.eval_metrics import EvalMetric
from newel.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from newel.evaluation.local_eval_service import LocalEvalService
from newel.sessions import InMemorySessionService


def service(kit: Any, *cases: Any, **fields: Any) -> LocalEvalService:
    manager = InMemoryEvalSetsManager()
    manager.store("demo", kit.eval_set(*cases))
    fields.setdefault("root_agent", kit.agent())
    return LocalEvalService(eval_sets_manager=manager, **fields)


async def inferred(evaluation: LocalEvalService, **config: Any) -> list[InferenceResult]:
    request = InferenceRequest(app_name="demo", eval_set_id="set1", inference_config=InferenceConfig(**config))
    return [result async for result in evaluation.perform_inference(request)]


def test_a_case_leaves_nothing_for_the_next(kit: Any) -> None:
    seen: list[Any] = []

    def remember(callback_context: Any) -> None:
        seen.append(callback_context.state.get("user:count"))
        callback_context.state["user:count"] = 1

    cases = [kit.case(name, kit.turn("hello", "hi there")) for name in "ab"]
    results = asyncio.run(inferred(service(kit, *cases, root_agent=kit.agent(before_agent_callback=remember))))
    assert seen == [None, None]
    assert [r.status for r in results] == [InferenceStatus.SUCCESS] * 2
    assert all(r.session_details is not None and len(r.session_details.events) == 3 for r in results)


def test_the_state_of_a_session_is_not_touched(kit: Any) -> None:
    (result,) = asyncio.run(inferred(service(kit, kit.case("a", kit.turn("hello")))))
    assert result.session_details is not None
    assert result.session_details.state == {}


def test_a_given_store_is_used_and_a_pinned_session_continued(kit: Any) -> None:
    async def run() -> Any:
        sessions = InMemorySessionService()
        await sessions.create_session(app_name="demo", user_id="u", session_id="mine", state={"k": 1})
        case = kit.case(
            "a", kit.turn("hello"), session_input=SessionInput(app_name="demo", user_id="u", session_id="mine")
        )
        (result,) = await inferred(service(kit, case, session_service=sessions))
        return result

    result = asyncio.run(run())
    assert result.session_id == "mine"
    assert result.session_details.state == {"k": 1}


def test_a_turn_holds_calls_results_and_times(kit: Any) -> None:
    (result,) = asyncio.run(inferred(service(kit, kit.case("a", kit.turn("look up x")))))
    (turn,) = result.inferences or []
    assert [r.response for r in get_all_tool_responses(turn.intermediate_data)] == [{"hits": "x"}]
    assert turn.duration is not None
    assert turn.duration >= (turn.model_duration or 0) + (turn.tool_duration or 0) > 0


def test_another_number_of_turns_is_refused(kit: Any) -> None:
    async def run() -> None:
        evaluation = service(kit, kit.case("a", kit.turn("hello", "hi there")))
        (result,) = await inferred(evaluation)
        result.inferences = (result.inferences or []) * 2
        metric = EvalMetric(metric_name="response_match_score", threshold=0.5)
        request = EvaluateRequest(
            inference_results=[result], evaluate_config=EvaluateConfig(eval_metrics=[metric])
        )  # fmt: skip
        async for _ in evaluation.evaluate(request):
            pass

    with pytest.raises(ValueError, match="has 1 turns, and what is to be judged has 2"):
        asyncio.run(run())
