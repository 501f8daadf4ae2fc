"""RubricBasedEvaluator: a judge says of each statement whether it holds."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.cases.eval_rubrics import Rubric, RubricScore
from newel.evaluation.judges.fence import Fence
from newel.evaluation.judges.llm_as_judge import AutoRaterScore, LlmAsJudge
from newel.evaluation.judges.llm_as_judge_utils import get_average_rubric_score
from newel.evaluation.metrics.criteria import BaseCriterion, RubricsBasedCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric
from newel.evaluation.metrics.evaluator import EvaluationResult, PerInvocationResult
from newel.evaluation.metrics.rubrics.rubric_answers import VERDICTS, RubricResponse, parse, scores_of
from newel.evaluation.metrics.scoring import majority, mean, status_of
from newel_kernel import ConfigurationError

__all__ = ["RubricBasedEvaluator", "RubricResponse"]

FORMAT = """
Judge each property below on its own: find the evidence for and against it in the data, then decide whether it holds. A
property that asks for something the data does not show does not hold.

Write one block for each property, in their order and with nothing else:

ID: the id of the property
Property: the text of the property, word for word
Evidence: the parts of the data for or against it
Rationale: why it holds or not, in one line
Verdict: yes or no

The properties:
{rubrics}
"""


class RubricBasedEvaluator(LlmAsJudge):
    """The mean of the rubrics in effect: the criterion's, and those of the turn that have the metric's type."""

    criterion_type: ClassVar[type[BaseCriterion]] = RubricsBasedCriterion
    #: The type of rubrics on cases and turns that this metric judges.
    rubric_type: ClassVar[str] = ""

    def __init__(self, eval_metric: EvalMetric) -> None:
        super().__init__(eval_metric)
        self._rubrics: list[Rubric] = self._criterion.rubrics

    @abstractmethod
    def texts(self, actual: Invocation) -> list[tuple[str, str]]:
        """What the judge sees of a turn: headings, each with its text."""

    def introduction(self) -> str:
        """What the judge is to do."""
        return "You judge what an agent did in one turn of a conversation."

    def effective_rubrics(self, invocation: Invocation) -> list[Rubric]:
        """The rubrics of a turn; ValueError if there are none, or two with the same id."""
        rubrics = [*self._rubrics, *(r for r in invocation.rubrics or () if r.type == self.rubric_type)]
        seen: set[str] = set()
        for rubric in rubrics:
            if rubric.rubric_id in seen:
                raise ConfigurationError(f"two rubrics have the id {rubric.rubric_id!r}; give one of them another")
            seen.add(rubric.rubric_id)
        if not rubrics:
            raise ConfigurationError(
                f"{self._eval_metric.metric_name} has no rubrics: write some into its criterion, or into the case or "
                f"turn with the type {self.rubric_type}"
            )
        return rubrics

    def format_auto_rater_prompt(self, actual: Invocation, expected: Invocation | None) -> str:
        """What the judge is to do, the turn, the rubrics."""
        fence, texts = self._fenced(actual)
        sections = [f"{heading}:\n{fence.around(text)}" for heading, text in texts]
        rubrics = "\n".join(
            f"ID: {rubric.rubric_id}\nProperty: {rubric.text}\n" for rubric in self.effective_rubrics(actual)
        )
        return "\n\n".join([self.introduction(), fence.note, *sections, FORMAT.format(rubrics=rubrics)])

    def read_answer(self, answer: str, actual: Invocation, expected: Invocation | None) -> AutoRaterScore:
        """The score of each rubric, and their mean."""
        fence, texts = self._fenced(actual)
        for _, text in texts:
            fence.around(text)
        scores = scores_of(parse(fence.without_echo(answer, VERDICTS)), self.effective_rubrics(actual))
        return AutoRaterScore(score=get_average_rubric_score(scores), rubric_scores=scores)

    def _fenced(self, actual: Invocation) -> tuple[Fence, list[tuple[str, str]]]:
        texts = self.texts(actual)
        return Fence(*(text for _, text in texts)), texts

    def aggregate_per_invocation_samples(
        self, per_invocation_samples: list[PerInvocationResult]
    ) -> PerInvocationResult:
        """Each rubric by the majority of the samples."""
        by_id: dict[str, list[RubricScore]] = {}
        for sample in per_invocation_samples:
            for one in sample.rubric_scores or ():
                by_id.setdefault(one.rubric_id, []).append(one)
        scores = [majority(samples) for samples in by_id.values()]
        score = get_average_rubric_score(scores)
        return per_invocation_samples[0].model_copy(
            update={"score": score, "rubric_scores": scores, "eval_status": status_of(score, self._threshold)}
        )

    def aggregate_invocation_results(self, per_invocation_results: list[PerInvocationResult]) -> EvaluationResult:
        """The mean over all rubric scores of all turns."""
        by_id: dict[str, list[float]] = {}
        for turn in per_invocation_results:
            for one in turn.rubric_scores or ():
                scores = by_id.setdefault(one.rubric_id, [])
                if one.score is not None:
                    scores.append(one.score)
        overall = mean(score for scores in by_id.values() for score in scores)
        return EvaluationResult(
            overall_score=overall,
            overall_eval_status=status_of(overall, self._threshold),
            per_invocation_results=per_invocation_results,
            overall_rubric_scores=[RubricScore(rubric_id=name, score=mean(scores)) for name, scores in by_id.items()],
        )
