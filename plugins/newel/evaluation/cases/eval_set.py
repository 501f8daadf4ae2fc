"""EvalSet: cases under one id."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from newel.evaluation.cases.eval_case import EvalCase

__all__ = ["EvalCase", "EvalSet"]


class EvalSet(BaseModel):
    """The content of a file ``<eval_set_id>.evalset.json``. The last two fields are newel's own."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", defer_build=True)

    eval_set_id: str
    name: str | None = None
    description: str | None = None
    eval_cases: list[EvalCase]
    creation_timestamp: float = 0.0
    #: Thresholds or criteria of the whole set by metric; they override those of `test_config.json`.
    criteria: dict[str, Any] = Field(default_factory=dict)
    tags: list[str] = Field(default_factory=list)
