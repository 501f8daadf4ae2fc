"""Criteria: the threshold of a metric, and its other settings."""

import re
from enum import Enum, IntEnum
from typing import Any, ClassVar

from pydantic import ConfigDict, Field, field_validator

from newel.evaluation.cases.base_model import EvalBaseModel
from newel.evaluation.cases.eval_rubrics import Rubric
from newel.models import catalogue
from newel_types import GenerateContentConfig

DEFAULT_JUDGE = catalogue.GEMINI


class JudgeModelOptions(EvalBaseModel):
    """Which model judges, and how often. `judge_model` is an address, as an agent's `model` is.

    With `judge_models` several judges vote; how far they agree is reported.
    """

    judge_model: str = DEFAULT_JUDGE
    judge_model_config: GenerateContentConfig | None = None
    num_samples: int = Field(default=5, ge=1)
    #: Judge calls of one metric that run at once.
    parallelism_limit: int = Field(default=1, ge=1)
    judge_models: list[str] = Field(default_factory=list)

    @property
    def judges(self) -> list[str]:
        """The addresses of the judges."""
        return self.judge_models or [self.judge_model]


class BaseCriterion(EvalBaseModel):
    """A threshold: a score passes when it reaches it. Extra keys are kept for more specific criteria."""

    model_config = ConfigDict(extra="allow")

    threshold: float = Field(allow_inf_nan=False)
    include_intermediate_responses_in_final: bool = False


class LlmAsAJudgeCriterion(BaseCriterion):
    """A criterion of a metric that asks a judge."""

    judge_model_options: JudgeModelOptions = Field(default_factory=JudgeModelOptions)


class RubricsBasedCriterion(LlmAsAJudgeCriterion):
    """A criterion with statements for the judge."""

    rubrics: list[Rubric] = Field(default_factory=list)


class HallucinationsCriterion(LlmAsAJudgeCriterion):
    """A criterion of `hallucinations_v1`."""

    evaluate_intermediate_nl_responses: bool = False


class LlmBackedUserSimulatorCriterion(LlmAsAJudgeCriterion):
    """A criterion of `per_turn_user_simulator_quality_v1`."""

    stop_signal: str = "</finished>"


class _MatchType(IntEnum):
    """How actual and expected calls are compared. The last two are newel's own."""

    EXACT = 0
    IN_ORDER = 1
    ANY_ORDER = 2
    #: Every actual call is expected.
    SUBSET = 3
    #: Every expected call was made; the same as ANY_ORDER under the name that other tools use.
    SUPERSET = 4


class ArgumentMatch(str, Enum):  # noqa: UP042 - str() shows the member, as in the released enums
    """How the arguments of two calls are compared."""

    EXACT = "exact"
    IGNORE = "ignore"
    #: The actual arguments are among the expected ones.
    SUBSET = "subset"
    #: The expected arguments are among the actual ones.
    SUPERSET = "superset"


class ToolArguments(EvalBaseModel):
    """How the arguments of one tool are compared.

    With `keys`, only these are compared. The value of a key in `regex` must match its pattern fully; the number of a
    key in `tolerance` may differ by that much; other values must be equal. `matcher` names a plugin's ArgumentMatcher.
    """

    mode: ArgumentMatch = ArgumentMatch.EXACT
    keys: list[str] | None = None
    regex: dict[str, str] = Field(default_factory=dict)
    tolerance: dict[str, float] = Field(default_factory=dict)
    matcher: str | None = None


class ToolTrajectoryCriterion(BaseCriterion):
    """A criterion of `tool_trajectory_avg_score`."""

    MatchType: ClassVar[type[_MatchType]] = _MatchType

    match_type: _MatchType = _MatchType.EXACT
    ignore_args: bool = False
    #: How the arguments of tools that `tools` does not list are compared.
    arguments: ArgumentMatch = ArgumentMatch.EXACT
    tools: dict[str, ToolArguments] = Field(default_factory=dict)

    @field_validator("match_type", mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        if isinstance(value, str):
            name = re.sub(r"[-\s]", "_", value.strip()).upper()
            return _MatchType.__members__.get(name, value)
        return value
