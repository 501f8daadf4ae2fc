"""Evaluation: whether an agent does what it should, and whether a change made it better.

`evaluate` is the one coroutine that everything else builds on; AgentEvaluator and `newel eval` are layers over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.evaluation.cases.eval_case import EvalCase as EvalCase
    from newel.evaluation.cases.eval_case import Invocation as Invocation
    from newel.evaluation.cases.eval_set import EvalSet as EvalSet
    from newel.evaluation.metrics.eval_config import EvalConfig as EvalConfig
    from newel.evaluation.metrics.eval_metrics import EvalMetric as EvalMetric
    from newel.evaluation.metrics.eval_metrics import EvalStatus as EvalStatus
    from newel.evaluation.metrics.evaluator import EvaluationResult as EvaluationResult
    from newel.evaluation.metrics.evaluator import Evaluator as Evaluator
    from newel.evaluation.metrics.evaluator import PerInvocationResult as PerInvocationResult
    from newel.evaluation.runs.agent_evaluator import AgentEvaluator as AgentEvaluator
    from newel.evaluation.runs.evaluation import EvaluationRun as EvaluationRun
    from newel.evaluation.runs.evaluation import evaluate as evaluate
    from newel.evaluation.runs.options import RunOptions as RunOptions
    from newel.evaluation.service.local_eval_service import LocalEvalService as LocalEvalService

_WHERE = {
    "AgentEvaluator": "newel.evaluation.runs.agent_evaluator",
    "EvalCase": "newel.evaluation.cases.eval_case",
    "EvalConfig": "newel.evaluation.metrics.eval_config",
    "EvalMetric": "newel.evaluation.metrics.eval_metrics",
    "EvalSet": "newel.evaluation.cases.eval_set",
    "EvalStatus": "newel.evaluation.metrics.eval_metrics",
    "EvaluationResult": "newel.evaluation.metrics.evaluator",
    "EvaluationRun": "newel.evaluation.runs.evaluation",
    "Evaluator": "newel.evaluation.metrics.evaluator",
    "Invocation": "newel.evaluation.cases.eval_case",
    "LocalEvalService": "newel.evaluation.service.local_eval_service",
    "PerInvocationResult": "newel.evaluation.metrics.evaluator",
    "RunOptions": "newel.evaluation.runs.options",
    "evaluate": "newel.evaluation.runs.evaluation",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
