"""LocalEvalService, by the released name."""

from newel.evaluation.service.local_eval_service import EVAL_SESSION_ID_PREFIX, LocalEvalService

__all__ = ["EVAL_SESSION_ID_PREFIX", "LocalEvalService"]
