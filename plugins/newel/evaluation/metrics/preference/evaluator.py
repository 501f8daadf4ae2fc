"""PreferenceEvaluator: which of two answers a judge prefers, asked in both orders."""

from __future__ import annotations

import asyncio
import re
from typing import ClassVar

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.judges.fence import Fence
from newel.evaluation.judges.llm_as_judge import AutoRaterScore, LlmAsJudge
from newel.evaluation.metrics.eval_metrics import EvalMetricResultDetails
from newel.evaluation.metrics.evaluator import PerInvocationResult
from newel.evaluation.metrics.scoring import answer_of, mean, status_of, text_of

_FIELD = re.compile(r'"preferred"\s*:\s*"?(first|second|tie)"?', re.IGNORECASE)
_PROMPT = """You compare two answers to a question. Which answer serves the asker better? Do not reward length.

{note}

The question:
{user}

The first answer:
{first}

The second answer:
{second}

Answer with one JSON object and nothing else:
{{
  "reasoning": "why, in one or two sentences",
  "preferred": "first" or "second" or "tie"
}}
"""


class PreferenceEvaluator(LlmAsJudge):
    """`pairwise_preference`: 1 if the agent's answer is preferred to the reference whichever comes first, 0 if
    the reference is, a half if the judge cannot say, or if its preference follows the order.
    """

    needs_reference: ClassVar[bool] = True

    def format_auto_rater_prompt(self, actual: Invocation, expected: Invocation | None) -> str:
        """With the agent's answer first."""
        return self._prompt(actual, expected, swapped=False)

    def _prompt(self, actual: Invocation, expected: Invocation | None, swapped: bool) -> str:
        fence, user, ours, theirs = self._fenced(actual, expected)
        first, second = (theirs, ours) if swapped else (ours, theirs)
        return _PROMPT.format(
            note=fence.note, user=fence.around(user), first=fence.around(first), second=fence.around(second)
        )

    def read_answer(self, answer: str, actual: Invocation, expected: Invocation | None) -> AutoRaterScore:
        """1 for the first, 0 for the second."""
        fence, *texts = self._fenced(actual, expected)
        for text in texts:
            fence.around(text)
        verdicts = _FIELD.findall(fence.without_echo(answer, _FIELD))
        scores = {"first": 1.0, "second": 0.0, "tie": 0.5}
        return AutoRaterScore(score=scores[verdicts[-1].lower()] if verdicts else None)

    async def samples(
        self, text: str, actual: Invocation, expected: Invocation | None, limit: asyncio.Semaphore
    ) -> tuple[list[AutoRaterScore], str | None]:
        """Each sample is a pair of questions, one for each order."""
        straight, error = await super().samples(text, actual, expected, limit)
        swapped, other = await super().samples(self._prompt(actual, expected, swapped=True), actual, expected, limit)
        pairs = [
            one.model_copy(update={"score": _agreed(one.score, two.score)})
            for one, two in zip(straight, swapped, strict=False)
        ]
        return pairs, error or other

    def aggregate_per_invocation_samples(
        self, per_invocation_samples: list[PerInvocationResult]
    ) -> PerInvocationResult:
        """The mean."""
        scores = [one.score for one in per_invocation_samples if one.score is not None]
        score = mean(scores)
        why = "the judge's preference follows the order of the answers, or there is none" if 0.5 in scores else None
        return per_invocation_samples[0].model_copy(
            update={
                "score": score,
                "eval_status": status_of(score, self._threshold),
                "details": EvalMetricResultDetails(explanation=why) if why else None,
            }
        )

    def _fenced(self, actual: Invocation, expected: Invocation | None) -> tuple[Fence, str, str, str]:
        user, ours = text_of(actual.user_content), answer_of(actual)
        theirs = answer_of(expected) if expected is not None else ""
        return Fence(user, ours, theirs), user, ours, theirs


def _agreed(straight: float | None, swapped: float | None) -> float | None:
    """The verdict of both orders: the second is read the other way round."""
    if straight is None or swapped is None:
        return None
    other = 1.0 - swapped
    return straight if straight == other else 0.5
