"""The base of evaluation's models, by the released name."""

from newel.evaluation.cases.base_model import EvalBaseModel

__all__ = ["EvalBaseModel"]
