"""The subject of a judgement: the whole case, for metrics that look beyond the turns."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from newel.evaluation.cases.eval_case import EvalCase
from newel.evaluation.service.base_eval_service import InferenceResult


@dataclass(frozen=True, slots=True)
class Subject:
    """A case, and what the agent did with it."""

    case: EvalCase
    inference: InferenceResult


#: What this task judges; None if an evaluator is called directly.
subject: ContextVar[Subject | None] = ContextVar("evaluation_subject", default=None)
