"""Options of a run."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from newel.evaluation.cases.eval_case import EvalCase

CassetteMode = Literal["record", "replay", "auto"]


class RateLimit(BaseModel):
    """How often one model may be asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    concurrent: int | None = Field(default=None, ge=1)


class Budget(BaseModel):
    """How much a run may use before it stops; it can be resumed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_cost: float | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, ge=1)
    max_seconds: float | None = Field(default=None, gt=0)


class RunOptions(BaseModel):
    """How cases run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: Cases that run at once.
    parallelism: int = Field(default=4, ge=1)
    #: How often each case runs, unless the case says otherwise.
    repeats: int = Field(default=1, ge=1)
    #: Seconds after which a case is stopped.
    case_timeout: float | None = Field(default=None, gt=0)
    #: By model address; ``*`` is for all that are not named.
    rate_limits: dict[str, RateLimit] = Field(default_factory=dict)
    budget: Budget = Budget()
    #: Globs of case ids, and tags; a case runs if it matches one entry of each list that is given.
    cases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    #: Whether tools that declare effects run; else they need a recorded answer.
    allow_effects: bool = False
    cassette: CassetteMode | None = None
    cassette_file: str | None = None

    def chooses(self, case: EvalCase, set_tags: list[str]) -> bool:
        """Whether a case is to run."""
        by_name = not self.cases or any(fnmatchcase(case.eval_id, glob) for glob in self.cases)
        return by_name and (not self.tags or bool({*self.tags} & {*case.tags, *set_tags}))
