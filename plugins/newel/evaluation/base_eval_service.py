"""BaseEvalService, by the released name."""

from newel.evaluation.service.base_eval_service import (
    BaseEvalService,
    EvaluateConfig,
    EvaluateRequest,
    InferenceConfig,
    InferenceRequest,
    InferenceResult,
    InferenceStatus,
)

__all__ = [
    "BaseEvalService",
    "EvaluateConfig",
    "EvaluateRequest",
    "InferenceConfig",
    "InferenceRequest",
    "InferenceResult",
    "InferenceStatus",
]
