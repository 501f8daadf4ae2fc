"""The evaluation service of Vertex AI, as the backend of metrics that judges compute by default."""

from __future__ import annotations

import asyncio
import os
from itertools import count
from typing import Any

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation, InvocationEvents
from newel.evaluation.cases.eval_rubrics import RubricScore
from newel.evaluation.cloud.client import CloudClient, CloudError, delay_of, project_and_location
from newel.evaluation.metrics.eval_metrics import EvalMetric, EvalMetricResultDetails
from newel.evaluation.metrics.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from newel.evaluation.metrics.scoring import answer_of, on_last_turn, paired, status_of, summarised, text_of
from newel_types import Content, Tool

#: Metrics of a whole conversation; their result is on its last turn.
MULTI_TURN = ("multi_turn_task_success_v1", "multi_turn_trajectory_quality_v1", "multi_turn_tool_use_quality_v1")
COHERENCE = "response_evaluation_score"


class VertexEvaluator(Evaluator):
    """Computes `safety_v1`, `response_evaluation_score` and `MULTI_TURN` in the cloud.

    GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION name the project, or GOOGLE_API_KEY says who pays;
    GOOGLE_VERTEX_BASE_URL overrides the service's address.
    """

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._metric = eval_metric
        self._threshold = eval_metric.bar
        self._client, self._path = _service()

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Have every turn judged, or the conversation as a whole."""
        name = self._metric.metric_name
        if name == COHERENCE and expected_invocations is None:
            raise ValueError(f"{name} compares with expected invocations, but there are none")
        pairs = paired(actual_invocations, expected_invocations)
        if not pairs:
            return EvaluationResult()
        if name not in MULTI_TURN:
            turns = [await self._judged(_turn_request(name, *pair), *pair) for pair in pairs]
            return summarised(turns, self._threshold)
        last = await self._judged(_conversation_request(name, actual_invocations), *pairs[-1])
        whole = summarised([last], self._threshold)
        return on_last_turn(
            whole.model_copy(update={"overall_rubric_scores": last.rubric_scores, "details": last.details}), pairs
        )

    async def _judged(
        self, request: dict[str, Any], actual: Invocation, expected: Invocation | None
    ) -> PerInvocationResult:
        empty = PerInvocationResult(actual_invocation=actual, expected_invocation=expected)
        try:
            answer = await self._ask(request)
        except CloudError as error:
            return empty.model_copy(update={"details": EvalMetricResultDetails(error=str(error))})
        score = answer.get("score")
        rubrics = [_rubric(number, verdict) for number, verdict in enumerate(answer.get("rubricVerdicts") or ())]
        failure = (answer.get("error") or {}).get("message")
        if score is None:
            failure = failure or "the service gave no score"
        details = EvalMetricResultDetails(explanation=answer.get("explanation") or None, error=failure)
        return empty.model_copy(
            update={
                "score": None if score is None else float(score),
                "eval_status": status_of(None if score is None else float(score), self._threshold),
                "rubric_scores": rubrics or None,
                "details": None if details == EvalMetricResultDetails() else details,
            }
        )

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The result of the one metric that a request asks for."""
        for attempt in count(1):
            try:
                answer = await asyncio.to_thread(self._client.json, "POST", self._path, request)
                break
            except CloudError as error:
                delay = delay_of(error, attempt)
                if delay is None:
                    raise
            await asyncio.sleep(delay)
        results = answer.get("metricResults") or [answer.get("coherenceResult") or {}]
        first: dict[str, Any] = results[0]
        return first


def _service() -> tuple[CloudClient, str]:
    own = os.environ.get("GOOGLE_VERTEX_BASE_URL", "")
    key = os.environ.get("GOOGLE_API_KEY")
    if key:
        base = own or "https://aiplatform.googleapis.com"
        return CloudClient(base, api_key=key, own_host=bool(own)), "/v1beta1/:evaluateInstances"
    project, location = project_and_location()
    prefix = "" if location == "global" else f"{location}-"
    base = own or f"https://{prefix}aiplatform.googleapis.com"
    path = f"/v1beta1/projects/{project}/locations/{location}:evaluateInstances"
    return CloudClient(base, own_host=bool(own)), path


def _turn_request(name: str, actual: Invocation, expected: Invocation | None) -> dict[str, Any]:
    answer = answer_of(actual)
    if name == COHERENCE:
        return {"coherenceInput": {"metricSpec": {}, "instance": {"prediction": answer}}}
    instance = {"prompt": {"text": text_of(actual.user_content)}, "response": {"text": answer}}
    if expected is not None:
        instance["reference"] = {"text": answer_of(expected)}
    return {"metrics": [{"predefinedMetricSpec": {"metricSpecName": name}}], "instance": instance}


def _conversation_request(name: str, turns: list[Invocation]) -> dict[str, Any]:
    data = {"agents": _agents(turns), "turns": [_turn(number, turn) for number, turn in enumerate(turns)]}
    return {
        "metrics": [{"predefinedMetricSpec": {"metricSpecName": name}}],
        "instance": {"agentEvalData": data},
    }


def _agents(turns: list[Invocation]) -> dict[str, Any]:
    agents = {}
    for turn in turns:
        for name, agent in (turn.app_details.agent_details if turn.app_details is not None else {}).items():
            tools = [_json(tool) for tool in agent.tool_declarations]
            agents[name] = {"agentId": name, "instruction": agent.instructions, "tools": tools}
    return agents


def _turn(number: int, turn: Invocation) -> dict[str, Any]:
    data = turn.intermediate_data
    steps = data.invocation_events if isinstance(data, InvocationEvents) else []
    events = [_event("user", turn.user_content)]
    events += [_event(step.author, step.content) for step in steps if step.content is not None]
    if turn.final_response is not None:
        events.append(_event("agent", turn.final_response))
    return {"turnIndex": number, "turnId": turn.invocation_id, "events": events}


def _event(author: str, content: Content) -> dict[str, Any]:
    return {"author": author, "content": _json(content)}


def _json(value: Content | Tool) -> dict[str, Any]:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def _rubric(number: int, verdict: dict[str, Any]) -> RubricScore:
    rubric = verdict.get("evaluatedRubric") or {}
    stated = ((rubric.get("content") or {}).get("property") or {}).get("description")
    return RubricScore(
        rubric_id=str(stated or rubric.get("rubricId") or f"rubric_{number}"),
        rationale=verdict.get("reasoning") or None,
        score=1.0 if verdict.get("verdict") else 0.0,  # the service leaves out what is false
    )
