"""LocalEvalSampler: eval sets as examples; a case scores 1 if it passes, else 0."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.cases.eval_case import Invocation, get_all_tool_calls_with_responses
from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.metrics.eval_config import EvalConfig
from newel.evaluation.metrics.eval_metrics import EvalStatus
from newel.evaluation.metrics.scoring import answer_of, text_of
from newel.evaluation.results.eval_result import EvalCaseResult
from newel.evaluation.runs.evaluation import evaluate
from newel.evaluation.runs.options import RunOptions
from newel.evaluation.storage.eval_sets_manager import EvalSetsManager
from newel.optimization.data_types import UnstructuredSamplingResult
from newel.optimization.sampler import ExampleSet, Sampler
from newel_kernel import BaseAgent


class LocalEvalSamplerConfig(BaseModel):
    """Which sets and cases; validation is the training set if it is not set."""

    model_config = ConfigDict(extra="forbid")

    eval_config: EvalConfig
    app_name: str
    train_eval_set: str
    train_eval_case_ids: list[str] | None = None
    validation_eval_set: str | None = None
    validation_eval_case_ids: list[str] | None = None
    #: Whether tools that declare effects run; else they need a recorded answer.
    allow_effects: bool = False


class LocalEvalSampler(Sampler[UnstructuredSamplingResult]):
    """Scores an agent by evaluating it in this process."""

    def __init__(self, config: LocalEvalSamplerConfig, eval_sets_manager: EvalSetsManager) -> None:
        self._config = config
        self._sets = eval_sets_manager
        self._train_set = config.train_eval_set
        self._validation_set = config.validation_eval_set or config.train_eval_set
        self._train = config.train_eval_case_ids or self._ids(self._train_set)
        if config.validation_eval_case_ids:
            self._validation = config.validation_eval_case_ids
        else:
            own = config.validation_eval_set is not None
            self._validation = self._ids(self._validation_set) if own else self._train

    def get_train_example_ids(self) -> list[str]:
        """The training cases."""
        return list(self._train)

    def get_validation_example_ids(self) -> list[str]:
        """The validation cases."""
        return list(self._validation)

    async def sample_and_score(
        self,
        candidate: BaseAgent,
        example_set: ExampleSet = "validation",
        batch: list[str] | None = None,
        capture_full_eval_data: bool = False,
    ) -> UnstructuredSamplingResult:
        """Evaluate the cases of `batch`, or of the whole set."""
        training = example_set == "train"
        ids = batch or (self._train if training else self._validation)
        eval_set = self._set(self._train_set if training else self._validation_set)
        cases = [case for case in eval_set.eval_cases if case.eval_id in ids]
        run = await evaluate(
            candidate,
            eval_set.model_copy(update={"eval_cases": cases}),
            self._config.eval_config,
            app_name=self._config.app_name,
            options=RunOptions(allow_effects=self._config.allow_effects),
        )
        scores = {r.eval_id: float(r.final_eval_status is EvalStatus.PASSED) for r in run.results}
        data = {r.eval_id: _case_data(r) for r in run.results} if capture_full_eval_data else None
        return UnstructuredSamplingResult(scores=scores, data=data)

    def _set(self, set_id: str) -> EvalSet:
        eval_set = self._sets.get_eval_set(self._config.app_name, set_id)
        if eval_set is None:
            raise NotFoundError(f"the app {self._config.app_name!r} has no eval set {set_id!r}")
        return eval_set

    def _ids(self, set_id: str) -> list[str]:
        return [case.eval_id for case in self._set(set_id).eval_cases]


def _case_data(result: EvalCaseResult) -> dict[str, Any]:
    return {
        "invocations": [
            {
                "actual_invocation": extract_single_invocation_info(turn.actual_invocation),
                "expected_invocation": extract_single_invocation_info(turn.expected_invocation)
                if turn.expected_invocation is not None
                else None,
                "eval_metric_results": [
                    {"metric_name": m.metric_name, "score": m.score, "eval_status": m.eval_status.name}
                    for m in turn.eval_metric_results
                ],
            }
            for turn in result.eval_metric_result_per_invocation
        ]
    }


def extract_tool_call_data(invocation: Invocation) -> list[dict[str, Any]]:
    """The calls of a turn with their responses."""
    return [
        {"name": call.name, "args": call.args, "response": response.response if response is not None else None}
        for call, response in get_all_tool_calls_with_responses(invocation.intermediate_data)
    ]


def extract_single_invocation_info(invocation: Invocation) -> dict[str, Any]:
    """What was asked, what was answered, which tools were called."""
    return {
        "user_prompt": text_of(invocation.user_content),
        "agent_response": answer_of(invocation),
        "tool_calls": extract_tool_call_data(invocation),
    }
