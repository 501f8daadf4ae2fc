"""Evaluation: whether an agent does what it should, and whether a change made it better.

`evaluate` is the one coroutine that everything else builds on; AgentEvaluator and `newel eval` are layers over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.evaluation.agent_evaluator import AgentEvaluator as AgentEvaluator
    from newel.evaluation.eval_case import EvalCase as EvalCase
    from newel.evaluation.eval_case import Invocation as Invocation
    from newel.evaluation.eval_config import EvalConfig as EvalConfig
    from newel.evaluation.eval_metrics import EvalMetric as EvalMetric
    from newel.evaluation.eval_metrics import EvalStatus as EvalStatus
    from newel.evaluation.eval_set import EvalSet as EvalSet
    from newel.evaluation.evaluator import EvaluationResult as EvaluationResult
    from newel.evaluation.evaluator import Evaluator as Evaluator
    from newel.evaluation.evaluator import PerInvocationResult as PerInvocationResult
    from newel.evaluation.local_eval_service import LocalEvalService as LocalEvalService
    from newel.evaluation.runs.evaluation import EvaluationRun as EvaluationRun
    from newel.evaluation.runs.evaluation import evaluate as evaluate
    from newel.evaluation.runs.options import RunOptions as RunOptions

_WHERE = {
    "AgentEvaluator": "newel.evaluation.agent_evaluator",
    "EvalCase": "newel.evaluation.eval_case",
    "EvalConfig": "newel.evaluation.eval_config",
    "EvalMetric": "newel.evaluation.eval_metrics",
    "EvalSet": "newel.evaluation.eval_set",
    "EvalStatus": "newel.evaluation.eval_metrics",
    "EvaluationResult": "newel.evaluation.evaluator",
    "EvaluationRun": "newel.evaluation.runs.evaluation",
    "Evaluator": "newel.evaluation.evaluator",
    "Invocation": "newel.evaluation.eval_case",
    "LocalEvalService": "newel.evaluation.local_eval_service",
    "PerInvocationResult": "newel.evaluation.evaluator",
    "RunOptions": "newel.evaluation.runs.options",
    "evaluate": "newel.evaluation.runs.evaluation",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
