"""Rubrics: statements that a judge finds true or false of an answer."""

from newel.evaluation.cases.base_model import EvalBaseModel


class RubricContent(EvalBaseModel):
    """What a rubric states."""

    text_property: str | None = None


class Rubric(EvalBaseModel):
    """One statement. `type` is FINAL_RESPONSE_QUALITY, TOOL_USE_QUALITY or TRAJECTORY_QUALITY."""

    rubric_id: str
    rubric_content: RubricContent
    description: str | None = None
    type: str | None = None

    @property
    def text(self) -> str:
        """The statement, empty if there is none."""
        return self.rubric_content.text_property or ""


class RubricScore(EvalBaseModel):
    """A judge's verdict on one rubric: 1 holds, 0 does not, None could not be read."""

    rubric_id: str
    rationale: str | None = None
    score: float | None = None
