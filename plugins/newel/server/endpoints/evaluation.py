"""Evaluation: sets and their cases, runs and results, in the folders of the apps."""

from __future__ import annotations

from contextlib import aclosing
from functools import wraps
from typing import Annotated

from pydantic import BaseModel, Field, GetJsonSchemaHandler, WithJsonSchema
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.cases.eval_case import EvalCase, SessionInput
from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.inference.evaluation_generator import EvaluationGenerator
from newel.evaluation.metrics.eval_metrics import EvalMetric, MetricInfo, PrebuiltMetrics
from newel.evaluation.metrics.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY
from newel.evaluation.results.eval_result import EvalCaseResult, EvalSetResult
from newel.evaluation.service.base_eval_service import (
    EvaluateConfig,
    EvaluateRequest,
    InferenceConfig,
    InferenceRequest,
)
from newel.evaluation.service.local_eval_service import LocalEvalService
from newel.evaluation.storage.eval_set_results_manager import EvalSetResultsManager
from newel.evaluation.storage.eval_sets_manager import ID_PATTERN, EvalSetsManager
from newel.evaluation.storage.in_memory_eval_set_results_manager import InMemoryEvalSetResultsManager
from newel.evaluation.storage.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from newel.evaluation.storage.local_eval_set_results_manager import LocalEvalSetResultsManager
from newel.evaluation.storage.local_eval_sets_manager import LocalEvalSetsManager
from newel.server.calls import Call, Run, endpoint
from newel.server.endpoints.sessions import Body
from newel.server.refusals import Refusal
from newel_kernel import Json, Key, seam

#: The fields of a case that google-adk does not know: they are shown only if they are set.
_OWN = ("tags", "skip", "xfail", "repeats", "criteria", "turn_criteria", "human_label", "source")
_SET_ID = {"type": "string", "pattern": f"^{ID_PATTERN}$"}
_SETS = Key[EvalSetsManager]("eval sets", InMemoryEvalSetsManager)
_RESULTS = Key[EvalSetResultsManager]("eval results", InMemoryEvalSetResultsManager)


class _Named:
    """Describes a set whose id is one; a bad one is refused as google-adk refuses it, with 400."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"allOf": [handler(schema), {"properties": {"evalSetId": _SET_ID, "eval_set_id": _SET_ID}}]}


class NewEvalSet(Body):
    """A set to create, with its cases."""

    eval_set: Annotated[EvalSet, _Named()]


class SetAnswer(BaseModel):
    """A set as google-adk writes it: with underscores, also in its cases."""

    eval_set_id: str
    name: str | None
    description: str | None = None
    eval_cases: list[Json]
    creation_timestamp: float = 0.0


class SetPath(BaseModel):
    """The id of a set to create."""

    eval_set_id: Annotated[str, WithJsonSchema(_SET_ID)]


class NewCase(Body):
    """The session that becomes a case."""

    eval_id: str = Field(min_length=1)
    session_id: str
    user_id: str


class EvalRun(Body):
    """The cases to run (all if there are none) and the metrics to compute."""

    eval_case_ids: list[str] = Field(default_factory=list)
    eval_ids: list[str] = Field(default_factory=list)
    eval_metrics: list[EvalMetric]
    #: How often each case runs; all repeats are one stored run.
    repeats: int = Field(1, ge=1, le=100)


class SetIds(Body):
    """The ids of eval sets."""

    eval_set_ids: list[str]


class ResultIds(Body):
    """The ids of the results of runs."""

    eval_result_ids: list[str]


class RunResults(Body):
    """What became of the cases."""

    run_eval_results: list[EvalCaseResult]


class MetricInfos(Body):
    """The metrics, with what they measure."""

    metrics_info: list[MetricInfo]


class Metrics(BaseModel):
    """Which metrics are listed: google-adk's, or all that are installed."""

    all: bool = False


def refusing(run: Run) -> Run:
    """Say what is wrong with a name, and what does not exist."""

    @wraps(run)
    async def refused(call: Call) -> object:
        try:
            return await run(call)
        except NotFoundError as error:
            raise Refusal(404, str(error)) from None
        except ValueError as error:
            raise Refusal(400, str(error)) from None

    return refused


@endpoint(body=NewEvalSet, answer=SetAnswer)
@refusing
async def create_eval_set(call: Call) -> object:
    """Create an eval set."""
    app, new = _app(call), call.body.eval_set
    sets = _sets(call)
    made = sets.create_eval_set(app, new.eval_set_id)
    for case in new.eval_cases:
        sets.add_eval_case(app, new.eval_set_id, case)
    return _snake(sets.get_eval_set(app, new.eval_set_id) or made)


@endpoint(answer=None, path=SetPath)
@refusing
async def create_legacy_eval_set(call: Call) -> None:
    """Create an empty eval set."""
    _sets(call).create_eval_set(_app(call), call.path["eval_set_id"])


@endpoint(answer=SetIds)
@refusing
async def list_eval_sets(call: Call) -> object:
    """The ids of the eval sets."""
    return {"evalSetIds": _listed(call)}


@endpoint(answer=list[str])
@refusing
async def list_legacy_eval_sets(call: Call) -> object:
    """The ids of the eval sets, as a list."""
    return _listed(call)


@endpoint(answer=list[str])
@refusing
async def list_cases(call: Call) -> object:
    """The ids of the cases of a set."""
    return sorted(case.eval_id for case in set_of(call).eval_cases)


@endpoint(answer=EvalCase)
@refusing
async def get_case(call: Call) -> object:
    """A case."""
    case = _case(call)
    unset = {
        name
        for name in _OWN
        if getattr(case, name) == EvalCase.model_fields[name].get_default(call_default_factory=True)
    }
    return case.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=unset)


@endpoint(body=EvalCase, answer=None)
@refusing
async def update_case(call: Call) -> None:
    """Replace a case."""
    set_of(call)
    if call.body.eval_id != call.path["eval_case_id"]:
        raise Refusal(400, "the case has another id than the path")
    _sets(call).update_eval_case(_app(call), call.path["eval_set_id"], call.body)


@endpoint(answer=None)
@refusing
async def delete_case(call: Call) -> None:
    """Delete a case."""
    _sets(call).delete_eval_case(_app(call), call.path["eval_set_id"], call.path["eval_case_id"])


@endpoint(body=NewCase, answer=None)
@refusing
async def add_session(call: Call) -> None:
    """Make a case of a session."""
    app, body = _app(call), call.body
    set_of(call)
    session = await call.server.services.session.get_session(
        app_name=app, user_id=body.user_id, session_id=body.session_id
    )
    if session is None:
        raise Refusal(404, "Session not found")
    case = EvalCase(
        eval_id=body.eval_id,
        conversation=EvaluationGenerator.convert_events_to_eval_invocations(session.events),
        session_input=SessionInput(app_name=app, user_id=body.user_id, state={}),
        creation_timestamp=seam.clock(),
    )
    _sets(call).add_eval_case(app, call.path["eval_set_id"], case)


@endpoint(body=EvalRun, answer=RunResults)
@refusing
async def run_eval(call: Call) -> object:
    """Run cases, and judge them."""
    return {"runEvalResults": await _run_and_judge(call)}


@endpoint(body=EvalRun, answer=list[EvalCaseResult])
@refusing
async def run_legacy_eval(call: Call) -> object:
    """Run cases, and judge them; the results are a list."""
    return await _run_and_judge(call)


@endpoint(answer=ResultIds)
@refusing
async def list_results(call: Call) -> object:
    """The ids of the results of runs."""
    return {"evalResultIds": results_of(call).list_eval_set_results(_app(call))}


@endpoint(answer=list[str])
@refusing
async def list_legacy_results(call: Call) -> object:
    """The ids of the results of runs, as a list."""
    return results_of(call).list_eval_set_results(_app(call))


@endpoint(answer=EvalSetResult)
@refusing
async def get_result(call: Call) -> object:
    """The result of a run."""
    return _camel(results_of(call).get_eval_set_result(_app(call), call.path["eval_result_id"]))


@endpoint(query=Metrics, answer=MetricInfos)
@refusing
async def list_metrics(call: Call) -> object:
    """The metrics, with what they measure."""
    released = {one.value for one in PrebuiltMetrics}
    found: list[MetricInfo] = DEFAULT_METRIC_EVALUATOR_REGISTRY.get_registered_metrics()
    return {"metricsInfo": [_camel(one) for one in found if call.query.all or one.metric_name in released]}


async def _run_and_judge(call: Call) -> list[object]:
    app, body, set_id = _app(call), call.body, call.path["eval_set_id"]
    call.server.admit()
    if _sets(call).get_eval_set(app, set_id) is None:
        raise Refusal(400, f"there is no eval set {set_id!r}")
    source = await call.server.apps.source(app)
    services = call.server.services
    results: list[EvalCaseResult] = []
    service = LocalEvalService(
        root_agent=source.agent,
        app=source.app,
        eval_sets_manager=_sets(call),
        session_service=services.session,
        artifact_service=services.artifact,
        memory_service=services.memory,
    )
    request = InferenceRequest(
        app_name=app,
        eval_set_id=set_id,
        eval_case_ids=body.eval_case_ids or body.eval_ids or None,
        inference_config=InferenceConfig(),
    )
    for repeat in range(body.repeats):
        async with aclosing(service.perform_inference(request)) as inferred:
            inferences = [one async for one in inferred]
        judging = EvaluateRequest(
            inference_results=inferences, evaluate_config=EvaluateConfig(eval_metrics=body.eval_metrics)
        )
        async with aclosing(service.evaluate(judging)) as judged:
            found = [one async for one in judged]
        order = [one.eval_case_id for one in inferences]
        found.sort(key=lambda one: order.index(one.eval_id))
        for one in found:
            one.repeat = repeat if body.repeats > 1 else None
        results += found
    results_of(call).save_eval_set_result(app, set_id, results)
    return [_result(one) for one in results]


def _result(result: EvalCaseResult) -> object:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"session_details"})


def _app(call: Call) -> str:
    """The app of the path; a Refusal if there is none."""
    name = call.path["app_name"]
    call.server.apps.place(name)
    return name


def _listed(call: Call) -> list[str]:
    app = _app(call)
    return _sets(call).list_eval_sets(app)


def set_of(call: Call) -> EvalSet:
    """The set of the path; a Refusal if there is none."""
    found = _sets(call).get_eval_set(_app(call), call.path["eval_set_id"])
    if found is None:
        raise Refusal(404, "Eval set not found")
    return found


def _case(call: Call) -> EvalCase:
    found = _sets(call).get_eval_case(_app(call), call.path["eval_set_id"], call.path["eval_case_id"])
    if found is None:
        raise Refusal(404, "Eval case not found")
    return found


def _sets(call: Call) -> EvalSetsManager:
    """Those in the app's folder; those of an app without a folder are in memory."""
    folder = call.server.apps.place(call.path["app_name"]).folder
    return LocalEvalSetsManager(folder.parent) if folder is not None else call.server.stash[_SETS]


def results_of(call: Call) -> EvalSetResultsManager:
    """Those in the app's folder; those of an app without a folder are in memory."""
    folder = call.server.apps.place(call.path["app_name"]).folder
    return LocalEvalSetResultsManager(folder.parent) if folder is not None else call.server.stash[_RESULTS]


def _camel(model: BaseModel) -> object:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _snake(eval_set: EvalSet) -> object:
    """The set as google-adk writes it, with newel's own fields only if they are set."""
    set_fields = eval_set.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return {"name": None, "eval_cases": [], **set_fields}
