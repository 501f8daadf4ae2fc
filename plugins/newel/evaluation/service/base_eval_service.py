"""BaseEvalService: inference and judging, as requests and streams of results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from enum import Enum

from pydantic import Field

from newel.evaluation.cases.base_model import EvalBaseModel
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.metrics.eval_metrics import EvalMetric
from newel.evaluation.results.eval_result import EvalCaseResult
from newel_kernel import Session


class EvaluateConfig(EvalBaseModel):
    """The metrics to compute, and how many cases to judge at once."""

    eval_metrics: list[EvalMetric]
    parallelism: int = Field(default=4, ge=1)


class InferenceConfig(EvalBaseModel):
    """How many cases run at once, and how."""

    labels: dict[str, str] | None = None
    parallelism: int = Field(default=4, ge=1)
    use_live: bool = False
    live_timeout_seconds: int = 300


class InferenceRequest(EvalBaseModel):
    """The cases to run; without ids, all cases of the set."""

    app_name: str
    eval_set_id: str
    eval_case_ids: list[str] | None = None
    inference_config: InferenceConfig


class InferenceStatus(Enum):
    """How the run of a case ended."""

    UNKNOWN = 0
    SUCCESS = 1
    FAILURE = 2


class InferenceResult(EvalBaseModel):
    """What an agent did with a case. From `user_id` on the fields are newel's own."""

    app_name: str
    eval_set_id: str
    eval_case_id: str
    inferences: list[Invocation] | None = None
    session_id: str | None = None
    status: InferenceStatus = InferenceStatus.UNKNOWN
    error_message: str | None = None
    user_id: str | None = None
    session_details: Session | None = None


class EvaluateRequest(EvalBaseModel):
    """What to judge, and how."""

    inference_results: list[InferenceResult]
    evaluate_config: EvaluateConfig


class BaseEvalService(ABC):
    """Runs cases, and judges the results."""

    @abstractmethod
    def perform_inference(self, inference_request: InferenceRequest) -> AsyncGenerator[InferenceResult, None]:
        """Run the cases; each is yielded when it is done."""

    @abstractmethod
    def evaluate(self, evaluate_request: EvaluateRequest) -> AsyncGenerator[EvalCaseResult, None]:
        """Judge the results of cases; each is yielded when it is done."""
