"""LlmAsJudge: metrics that a model judges, turn by turn, several times each."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from newel.evaluation.cases.base_model import EvalBaseModel
from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.cases.eval_rubrics import RubricScore
from newel.evaluation.judges.model_calls import ask, prompt
from newel.evaluation.metrics.criteria import BaseCriterion, LlmAsAJudgeCriterion
from newel.evaluation.metrics.eval_metrics import EvalMetric, EvalMetricResultDetails
from newel.evaluation.metrics.evaluator import EvaluationResult, Evaluator, PerInvocationResult
from newel.evaluation.metrics.scoring import needed_criterion, paired, summarised
from newel.evaluation.runs.cassettes import masked
from newel_kernel import LlmResponse, seam

#: How many characters of an answer an error quotes.
_MOST = 120


class AutoRaterScore(EvalBaseModel):
    """The verdict in one answer of a judge."""

    score: float | None = None
    rubric_scores: list[RubricScore] | None = None
    #: The judge that gave the answer, and the answer itself.
    judge: str = ""
    answer: str = ""


class LlmAsJudge(Evaluator):
    """Asks one or more judges for each turn, `num_samples` times each. Subclasses write prompts and read answers."""

    criterion_type: ClassVar[type[BaseCriterion]] = LlmAsAJudgeCriterion
    needs_reference: ClassVar[bool] = False

    def __init__(self, eval_metric: EvalMetric) -> None:
        self._eval_metric = eval_metric
        criterion: Any = needed_criterion(eval_metric, self.criterion_type)  # of a type that the subclass chooses
        self._criterion = criterion
        self._threshold: float | None = eval_metric.bar
        self._options = self._criterion.judge_model_options

    @abstractmethod
    def format_auto_rater_prompt(self, actual: Invocation, expected: Invocation | None) -> str:
        """The prompt about a turn."""

    @abstractmethod
    def read_answer(self, answer: str, actual: Invocation, expected: Invocation | None) -> AutoRaterScore:
        """The verdict on the turn in a judge's answer."""

    @abstractmethod
    def aggregate_per_invocation_samples(
        self, per_invocation_samples: list[PerInvocationResult]
    ) -> PerInvocationResult:
        """Combine the samples of a turn, at least one, into one result."""

    def aggregate_invocation_results(self, per_invocation_results: list[PerInvocationResult]) -> EvaluationResult:
        """The result of the conversation."""
        return summarised(per_invocation_results, self._threshold)

    async def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Judge every turn."""
        if self.needs_reference and expected_invocations is None:
            raise ValueError(f"{self._eval_metric.metric_name} compares with expected invocations, but there are none")
        pairs = paired(actual_invocations, expected_invocations)
        if not pairs:
            return EvaluationResult()
        limit = asyncio.Semaphore(self._options.parallelism_limit)
        prompts = [self.format_auto_rater_prompt(actual, expected) for actual, expected in pairs]
        turns = await in_order(
            [self._judge_turn(text, *pair, limit) for text, pair in zip(prompts, pairs, strict=True)],
            self._options.parallelism_limit,
        )
        return self.aggregate_invocation_results(turns)

    async def _judge_turn(
        self, text: str, actual: Invocation, expected: Invocation | None, limit: asyncio.Semaphore
    ) -> PerInvocationResult:
        samples, error = await self.samples(text, actual, expected, limit)
        empty = PerInvocationResult(actual_invocation=actual, expected_invocation=expected)
        if not samples:
            return empty.model_copy(update={"details": EvalMetricResultDetails(error=error)})
        results = [empty.model_copy(update={"score": one.score, "rubric_scores": one.rubric_scores}) for one in samples]
        turn = self.aggregate_per_invocation_samples(results)
        if turn.score is None and error is None:
            answer = masked(samples[0].answer)
            error = (
                f"the judge {samples[0].judge!r} gave no verdict that can be read; it said "
                f"{(answer if len(answer) <= _MOST else answer[:_MOST] + '…')!r}"
            )
        details = EvalMetricResultDetails(error=error, agreement=agreement(samples))
        return turn if details == EvalMetricResultDetails() else turn.model_copy(update={"details": details})

    async def samples(
        self, text: str, actual: Invocation, expected: Invocation | None, limit: asyncio.Semaphore
    ) -> tuple[list[AutoRaterScore], str | None]:
        """The verdicts of the judges, and the error of the first judge that failed."""
        questions = [(judge, n) for judge in self._options.judges for n in range(self._options.num_samples)]
        answers = await in_order(
            [self._sample(judge, n, text, limit) for judge, n in questions], self._options.parallelism_limit
        )
        scores = [
            self.read_answer(answer, actual, expected).model_copy(update={"judge": judge, "answer": answer})
            for (judge, _), (answer, _) in zip(questions, answers, strict=True)
            if answer is not None
        ]
        return scores, next((error for _, error in answers if error is not None), None)

    async def _sample(
        self, judge: str, number: int, text: str, limit: asyncio.Semaphore
    ) -> tuple[str | None, str | None]:
        async with limit:
            try:
                answer = await ask(judge, prompt(text), self._options.judge_model_config, sample=number)
            except Exception as error:  # noqa: BLE001 - a judge may be a plugin's; only this turn fails
                return None, f"the judge {judge!r} failed: {type(error).__name__}: {error}"
        return answer_text(answer), None


def answer_text(response: LlmResponse) -> str:
    """The text of a model's answer, without its thoughts."""
    parts = response.content.parts if response.content is not None else None
    return "\n".join(part.text for part in parts or () if part.text and not part.thought)


async def in_order(coroutines: Sequence[Any], limit: int) -> list[Any]:
    """The results in order; one after the other if only one may run at once."""
    if limit == 1 or len(coroutines) == 1:
        return [await one for one in coroutines]
    tasks = [seam.spawn(one) for one in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def agreement(samples: Sequence[AutoRaterScore]) -> float | None:
    """The share of pairs of judges whose majorities agree; None with fewer than two judges."""
    by_judge: dict[str, list[float]] = {}
    for one in samples:
        if one.score is not None:
            by_judge.setdefault(one.judge, []).append(one.score)
    votes = [sum(scores) / len(scores) > 0.5 for scores in by_judge.values()]
    pairs = len(votes) * (len(votes) - 1) // 2
    if not pairs:
        return None
    return sum(a == b for n, a in enumerate(votes) for b in votes[n + 1 :]) / pairs
