"""LocalEvalService: cases run and judged in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, closing
from typing import TYPE_CHECKING

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.cases.eval_case import EvalCase
from newel.evaluation.constants import SESSION_PREFIX
from newel.evaluation.inference.bounded_concurrency import as_done
from newel.evaluation.inference.case_inference import Stage, Stores, infer_case
from newel.evaluation.inference.effects import EffectGate
from newel.evaluation.judges.model_calls import agent_gate
from newel.evaluation.metrics.metric_evaluator_registry import (
    DEFAULT_METRIC_EVALUATOR_REGISTRY,
    MetricEvaluatorRegistry,
)
from newel.evaluation.results.eval_result import EvalCaseResult
from newel.evaluation.service.base_eval_service import (
    BaseEvalService,
    EvaluateRequest,
    InferenceRequest,
    InferenceResult,
)
from newel.evaluation.service.case_metrics import judge_case
from newel.evaluation.simulation.user_simulator_provider import UserSimulatorProvider
from newel.evaluation.storage.eval_set_results_manager import EvalSetResultsManager, PendingResults
from newel.evaluation.storage.eval_sets_manager import EvalSetsManager
from newel_kernel import BaseAgent, BaseSessionService, seam

if TYPE_CHECKING:
    from newel.apps.app import App
    from newel.artifacts.base_artifact_service import BaseArtifactService
    from newel.memory.base_memory_service import BaseMemoryService

EVAL_SESSION_ID_PREFIX = SESSION_PREFIX


def _session_id() -> str:
    return f"{EVAL_SESSION_ID_PREFIX}{seam.new_session_id()}"


class LocalEvalService(BaseEvalService):
    """Runs an agent against cases, each in its own session, and judges the results.

    A store that is not given is created for each case, so that no case affects another. With `app`, its plugins
    run, too. Tools that declare an effect run only with `allow_effects`; otherwise they return the response that the
    case has recorded, or an error.
    """

    def __init__(
        self,
        root_agent: BaseAgent | None = None,
        eval_sets_manager: EvalSetsManager | None = None,
        metric_evaluator_registry: MetricEvaluatorRegistry | None = None,
        session_service: BaseSessionService | None = None,
        artifact_service: BaseArtifactService | None = None,
        eval_set_results_manager: EvalSetResultsManager | None = None,
        session_id_supplier: Callable[[], str] = _session_id,
        user_simulator_provider: UserSimulatorProvider | None = None,
        memory_service: BaseMemoryService | None = None,
        app: App | None = None,
        allow_effects: bool = False,
    ) -> None:
        agent = app.root_agent if app is not None else root_agent
        if agent is None or eval_sets_manager is None:
            raise ValueError("LocalEvalService needs a `root_agent` (or an `app`) and an `eval_sets_manager`")
        self._stage = Stage(agent, app, Stores(session_service, artifact_service, memory_service))
        self._sets = eval_sets_manager
        self._registry = metric_evaluator_registry or DEFAULT_METRIC_EVALUATOR_REGISTRY
        self._results = eval_set_results_manager
        self._session_id = session_id_supplier
        self._simulators = user_simulator_provider or UserSimulatorProvider()
        self._allow_effects = allow_effects

    async def perform_inference(self, inference_request: InferenceRequest) -> AsyncGenerator[InferenceResult, None]:
        """Run the cases of a set; ids that it does not have are ignored."""
        config = inference_request.inference_config
        live_seconds = config.live_timeout_seconds if config.use_live else None
        app, set_id = inference_request.app_name, inference_request.eval_set_id
        eval_set = self._sets.get_eval_set(app, set_id)
        if eval_set is None:
            raise NotFoundError(f"the app {app!r} has no eval set {set_id!r}")
        ids = inference_request.eval_case_ids
        cases = [case for case in eval_set.eval_cases if not ids or case.eval_id in ids]

        async def run(case: EvalCase) -> InferenceResult:
            simulator = self._simulators.provide(case)
            agent_gate.set(EffectGate(case, self._allow_effects))  # for this task, which runs this case only
            return await infer_case(self._stage, (app, set_id), case, simulator, self._session_id(), live_seconds)

        async with aclosing(as_done(cases, run, config.parallelism)) as results:
            async for result in results:
                yield result

    async def evaluate(self, evaluate_request: EvaluateRequest) -> AsyncGenerator[EvalCaseResult, None]:
        """Judge the cases, then store the results of each set, in the order of the request."""
        config = evaluate_request.evaluate_config
        cases = _Cases(self._sets)
        inferences = evaluate_request.inference_results

        async def judge(number: int) -> tuple[int, EvalCaseResult]:
            inference = inferences[number]
            return number, await judge_case(cases.of(inference), inference, config.eval_metrics, self._registry)

        with closing(_Saving(self._results)) as pending:
            async with aclosing(as_done(range(len(inferences)), judge, config.parallelism)) as results:
                async for number, result in results:
                    pending.add(inferences[number], number, result)
                    yield result
            pending.save()


class _Saving:
    """Results that wait to be stored, by app and set."""

    def __init__(self, manager: EvalSetResultsManager | None) -> None:
        self._manager = manager
        self._sets: dict[tuple[str, str], PendingResults] = {}

    def add(self, inference: InferenceResult, number: int, result: EvalCaseResult) -> None:
        """Add a result."""
        if self._manager is None:
            return
        key = inference.app_name, inference.eval_set_id
        if key not in self._sets:
            self._sets[key] = self._manager.pending(*key)
        self._sets[key].add(number, result)

    def save(self) -> None:
        """Store everything."""
        for pending in self._sets.values():
            pending.save()

    def close(self) -> None:
        """Discard everything."""
        for pending in self._sets.values():
            pending.close()


class _Cases:
    """The cases of the sets that results belong to, each set read once."""

    def __init__(self, manager: EvalSetsManager) -> None:
        self._manager = manager
        self._sets: dict[tuple[str, str], dict[str, EvalCase]] = {}

    def of(self, inference: InferenceResult) -> EvalCase:
        """The case of a result; NotFoundError if it is gone."""
        key = (inference.app_name, inference.eval_set_id)
        if key not in self._sets:
            eval_set = self._manager.get_eval_set(*key)
            self._sets[key] = {case.eval_id: case for case in eval_set.eval_cases} if eval_set is not None else {}
        case = self._sets[key].get(inference.eval_case_id) or self._manager.get_eval_case(*key, inference.eval_case_id)
        if case is None:
            raise NotFoundError(f"the eval set {key[1]!r} of {key[0]!r} has no case {inference.eval_case_id!r}")
        return case
