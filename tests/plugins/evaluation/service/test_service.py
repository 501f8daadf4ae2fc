"""LocalEvalService: stores, stages, failures."""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import tracemalloc
from pathlib import Path
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
from newel.evaluation.eval_metrics import EvalMetric, EvalStatus
from newel.evaluation.eval_result import EvalCaseResult
from newel.evaluation.eval_set_results_manager import EvalSetResultsManager
from newel.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from newel.evaluation.local_eval_service import LocalEvalService
from newel.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager
from newel.evaluation.storage.in_memory_eval_set_results_manager import InMemoryEvalSetResultsManager
from newel.sessions import InMemorySessionService
from newel_kernel import ConfigurationError


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
        request = EvaluateRequest(inference_results=[result], evaluate_config=EvaluateConfig(eval_metrics=[metric]))
        async for _ in evaluation.evaluate(request):
            pass

    with pytest.raises(ValueError, match="has 1 turns, but the conversation to judge has 2"):
        asyncio.run(run())


async def peak_of(results: Any) -> int:
    """The most bytes that a stream of results needs while nobody keeps them."""
    gc.collect()
    gc.freeze()  # so that each collection looks only at what has come since
    tracemalloc.start()
    try:
        async for _ in results:
            gc.collect()  # garbage does not count, however long a process of many objects would let it lie
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_service_keeps_nothing_that_it_gave_away(kit: Any, tmp_path: Path) -> None:
    """Inference, judging and the file of results need no more memory for many cases than for few."""

    async def peaks(count: int) -> tuple[int, int]:
        cases = [kit.case(f"c{n}", kit.turn("look up x", "word " * 400)) for n in range(count)]
        evaluation = service(kit, *cases, eval_set_results_manager=LocalEvalSetResultsManager(tmp_path))
        request = InferenceRequest(app_name="demo", eval_set_id="set1", inference_config=InferenceConfig())
        ran = await peak_of(evaluation.perform_inference(request))
        (one,) = await inferred(service(kit, cases[0]))
        config = EvaluateConfig(eval_metrics=[EvalMetric(metric_name="response_match_score", threshold=0.5)])
        again = [one.model_copy(update={"eval_case_id": case.eval_id}) for case in cases]
        judged = await peak_of(evaluation.evaluate(EvaluateRequest(inference_results=again, evaluate_config=config)))
        return ran, judged

    asyncio.run(peaks(5))  # what is made once is there
    # Of two each: the interpreter's own tables grow now and then.
    few = [asyncio.run(peaks(20)) for _ in range(2)]
    many = [asyncio.run(peaks(100)) for _ in range(2)]
    for less, more in zip(zip(*few, strict=True), zip(*many, strict=True), strict=True):
        assert (min(more) - max(less)) / 80 < 1_000  # bytes a case; a result has some ten thousand


def test_results_are_saved_in_the_order_of_the_request(kit: Any, tmp_path: Path) -> None:
    async def run(results: EvalSetResultsManager) -> list[str]:
        cases = [kit.case(name, kit.turn("hello", "half \ud800")) for name in "abc"]
        evaluation = service(kit, *cases, eval_set_results_manager=results)
        config = EvaluateConfig(eval_metrics=[EvalMetric(metric_name="response_match_score", threshold=0.5)])
        backwards = (await inferred(evaluation))[::-1]
        request = EvaluateRequest(inference_results=backwards, evaluate_config=config)
        assert len([result async for result in evaluation.evaluate(request)]) == 3
        (name,) = results.list_eval_set_results("demo")
        stored = results.get_eval_set_result("demo", name)
        assert stored.eval_case_results[0].session_details is not None
        return [result.eval_id for result in stored.eval_case_results]

    for manager in (InMemoryEvalSetResultsManager(), LocalEvalSetResultsManager(tmp_path)):
        ids = asyncio.run(run(manager))
        assert sorted(ids) == ["a", "b", "c"]
    (file,) = (tmp_path / "demo" / ".adk" / "eval_history").iterdir()  # nothing lies beside the file
    assert [row["eval_id"] for row in json.loads(file.read_text())["eval_case_results"]] == ids


def test_results_that_cannot_be_written_are_given_all_the_same(kit: Any, tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("a file where the app's folder should be")
    found = []

    async def run() -> None:
        evaluation = service(
            kit,
            kit.case("a", kit.turn("hello")),
            kit.case("b", kit.turn("hello")),
            root_agent=kit.agent(),
            eval_set_results_manager=LocalEvalSetResultsManager(tmp_path),
        )
        request = EvaluateRequest(
            inference_results=await inferred(evaluation), evaluate_config=EvaluateConfig(eval_metrics=[])
        )
        async for result in evaluation.evaluate(request):
            found.append(result.eval_id)

    with pytest.raises(ConfigurationError, match="results cannot be written to"):
        asyncio.run(run())
    assert sorted(found) == ["a", "b"]


def test_results_for_which_there_is_no_room_are_one_error(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    result = EvalCaseResult(
        final_eval_status=EvalStatus.PASSED,
        overall_eval_metric_results=[],
        eval_metric_result_per_invocation=[],
        session_id="s",
        eval_id="few letters, which wait in a buffer",
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        pending = LocalEvalSetResultsManager(tmp_path).pending("demo", "set1")
        pending.add(0, result)
        with pytest.raises(ConfigurationError, match="cannot be written"):
            pending.save()
        pending.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
