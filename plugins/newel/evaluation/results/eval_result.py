"""Results: of a case, and of a set."""

from typing import Any

from pydantic import ConfigDict, Field

from newel.evaluation.cases.base_model import EvalBaseModel
from newel.evaluation.metrics.eval_metrics import EvalMetricResult, EvalMetricResultPerInvocation, EvalStatus
from newel_kernel import Session


class EvalCaseResult(EvalBaseModel):
    """The result of one case. From `error_message` on the fields are newel's own."""

    model_config = ConfigDict(extra="ignore")

    #: Deprecated: the id of the set.
    eval_set_file: str | None = None
    eval_set_id: str = ""
    eval_id: str = ""
    final_eval_status: EvalStatus
    #: Deprecated and always null.
    eval_metric_results: list[Any] | None = None
    overall_eval_metric_results: list[EvalMetricResult]
    eval_metric_result_per_invocation: list[EvalMetricResultPerInvocation]
    session_id: str
    session_details: Session | None = None
    user_id: str | None = None
    #: Why the case has no result, or what was noted about it.
    error_message: str | None = None
    #: The number of the repeat, from 0.
    repeat: int | None = None


class EvalSetResult(EvalBaseModel):
    """The results of one run over one set."""

    model_config = ConfigDict(extra="ignore")

    eval_set_result_id: str
    eval_set_result_name: str | None = None
    eval_set_id: str
    eval_case_results: list[EvalCaseResult] = Field(default_factory=list)
    creation_timestamp: float = 0.0
