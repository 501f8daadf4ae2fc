"""FinalResponseMatchV2Evaluator: a judge says whether an answer means what the expected one does."""

from __future__ import annotations

import re
from typing import ClassVar

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.judges.fence import Fence
from newel.evaluation.judges.llm_as_judge import AutoRaterScore, LlmAsJudge
from newel.evaluation.judges.llm_as_judge_utils import Label, field, label_of, last_of, score_of
from newel.evaluation.metrics.evaluator import PerInvocationResult
from newel.evaluation.metrics.scoring import answer_of, majority, status_of, text_of

_PROMPT = """You judge the answer of an agent by comparing it with a reference.

{note}

The user asked:
{user}

The agent answered:
{answer}

The reference:
{reference}

The answer is valid if a reader learns from it what the reference says. Different words, a different order or format and
additional true details are fine. It is invalid if it misses or contradicts something that the reference says, or does
not answer the question. If the question is ambiguous, accept any reasonable interpretation.

Answer with one JSON object and nothing else:
{{
  "reasoning": "why, in one or two sentences",
  "is_the_agent_response_valid": "valid" or "invalid"
}}
"""
_FIELD = re.compile(r"is_the_agent_response_(?:in)?valid")
_VALID, _INVALID = field("is_the_agent_response_valid"), field("is_the_agent_response_invalid")


class FinalResponseMatchV2Evaluator(LlmAsJudge):
    """`final_response_match_v2`: the share of turns that the judge calls valid."""

    needs_reference: ClassVar[bool] = True

    def format_auto_rater_prompt(self, actual: Invocation, expected: Invocation | None) -> str:
        """The user's text, the answer and the reference."""
        fence, user, answer, reference = self._fenced(actual, expected)
        return _PROMPT.format(
            note=fence.note, user=fence.around(user), answer=fence.around(answer), reference=fence.around(reference)
        )

    def read_answer(self, answer: str, actual: Invocation, expected: Invocation | None) -> AutoRaterScore:
        """1 for valid, 0 for invalid."""
        fence, *texts = self._fenced(actual, expected)
        for text in texts:
            fence.around(text)
        return AutoRaterScore(score=score_of(_label(fence.without_echo(answer, _FIELD))))

    def aggregate_per_invocation_samples(
        self, per_invocation_samples: list[PerInvocationResult]
    ) -> PerInvocationResult:
        """The majority."""
        turn = majority(per_invocation_samples)
        return turn.model_copy(update={"eval_status": status_of(turn.score, self._threshold)})

    def _fenced(self, actual: Invocation, expected: Invocation | None) -> tuple[Fence, str, str, str]:
        source = expected or actual
        user = text_of(source.user_content)
        answer = answer_of(actual, self._criterion.include_intermediate_responses_in_final)
        reference = answer_of(expected) if expected is not None else ""
        return Fence(user, answer, reference), user, answer, reference


def _label(answer: str) -> Label:
    """The label under the field, or under the misnamed field."""
    if (valid := last_of(_VALID, answer)) is not None:
        return label_of(valid)
    label = label_of(last_of(_INVALID, answer) or "")
    if label is Label.NOT_FOUND:
        return label
    return Label.INVALID if label in (Label.TRUE, Label.INVALID) else Label.VALID
