"""Judges of one question: a prompt about a turn or a conversation, and a number in the answer."""

from __future__ import annotations

from typing import ClassVar

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.judges.fence import Fence
from newel.evaluation.judges.llm_as_judge import AutoRaterScore, LlmAsJudge
from newel.evaluation.judges.llm_as_judge_utils import field, last_of
from newel.evaluation.metrics.evaluator import PerInvocationResult
from newel.evaluation.metrics.scoring import mean, status_of

_FIELD = field("verdict")
_PROMPT = """{question}

{note}

{texts}

Answer with one JSON object and nothing else:
{{
  "reasoning": "why, in one or two sentences",
  "verdict": {values}
}}
"""


class VerdictEvaluator(LlmAsJudge):
    """Asks one question about each turn; the score is the mean of the samples that have a verdict."""

    question: ClassVar[str] = ""
    #: The verdicts, each with its score.
    verdicts: ClassVar[dict[str, float]] = {}

    def texts(self, actual: Invocation, expected: Invocation | None) -> list[tuple[str, str]]:
        """What the judge sees: headings, each with its text."""
        raise NotImplementedError

    def format_auto_rater_prompt(self, actual: Invocation, expected: Invocation | None) -> str:
        """The question, the texts, the form of the answer."""
        fence, texts = self._fenced(actual, expected)
        return _PROMPT.format(
            question=self.question,
            note=fence.note,
            texts="\n\n".join(f"{heading}:\n{fence.around(text)}" for heading, text in texts),
            values=" or ".join(f'"{verdict}"' for verdict in self.verdicts),
        )

    def read_answer(self, answer: str, actual: Invocation, expected: Invocation | None) -> AutoRaterScore:
        """The score of the last verdict; none if it is not one of `verdicts`."""
        fence, texts = self._fenced(actual, expected)
        for _, text in texts:
            fence.around(text)
        verdict = last_of(_FIELD, fence.without_echo(answer, _FIELD)) or ""
        return AutoRaterScore(score=self.verdicts.get(verdict.strip(" .*").lower()))

    def aggregate_per_invocation_samples(
        self, per_invocation_samples: list[PerInvocationResult]
    ) -> PerInvocationResult:
        """The mean."""
        score = mean(one.score for one in per_invocation_samples if one.score is not None)
        return per_invocation_samples[0].model_copy(
            update={"score": score, "eval_status": status_of(score, self._threshold)}
        )

    def _fenced(self, actual: Invocation, expected: Invocation | None) -> tuple[Fence, list[tuple[str, str]]]:
        texts = self.texts(actual, expected)
        return Fence(*(text for _, text in texts)), texts
