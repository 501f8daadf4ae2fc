"""CoherenceEvaluator: how well an answer hangs together, from 1 to 5."""

from __future__ import annotations

from typing import ClassVar

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.judges.verdicts import VerdictEvaluator
from newel.evaluation.metrics.scoring import answer_of, text_of


class CoherenceEvaluator(VerdictEvaluator):
    """`response_evaluation_score`."""

    needs_reference: ClassVar[bool] = True
    question: ClassVar[str] = (
        "You judge how coherent an agent's answer is: whether it answers what was asked, its sentences follow from "
        "each other, and it says what the reference says. 5: fully; 4: with a small gap; 3: the reader has to guess "
        "in places; 2: hard to follow; 1: not at all."
    )
    verdicts: ClassVar[dict[str, float]] = {str(n): float(n) for n in range(1, 6)}

    def texts(self, actual: Invocation, expected: Invocation | None) -> list[tuple[str, str]]:
        """The user's text, the answer and the reference."""
        return [
            ("The user asked", text_of(actual.user_content)),
            ("The agent answered", answer_of(actual)),
            ("The reference", answer_of(expected) if expected is not None else ""),
        ]
