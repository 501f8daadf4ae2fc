"""RougeEvaluator: how many words an answer shares with the expected one."""

from __future__ import annotations

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.metrics.eval_metrics import EvalMetric
from newel.evaluation.metrics.response_match.rouge import rouge_1
from newel.evaluation.metrics.scoring import TurnEvaluator, TurnScore, answer_of


class RougeEvaluator(TurnEvaluator):
    """`response_match_score`: the F-measure of ROUGE-1."""

    def __init__(self, eval_metric: EvalMetric | None = None, threshold: float | None = None) -> None:
        super().__init__(threshold, eval_metric)
        criterion = eval_metric.criterion if eval_metric is not None else None
        self._with_steps = criterion is not None and criterion.include_intermediate_responses_in_final

    def score_turn(self, actual: Invocation, expected: Invocation | None) -> TurnScore:
        """Compare the answer of one turn."""
        ours = answer_of(actual, self._with_steps)
        theirs = answer_of(expected) if expected is not None else ""
        score = rouge_1(ours, theirs)
        if score == 1.0:
            return TurnScore(score)
        if not theirs:
            return TurnScore(score, "the turn has no expected answer to compare with: give it a `final_response`")
        return TurnScore(score, f"expected {_short(theirs)}, but the answer was {_short(ours)}")


def _short(text: str, most: int = 120) -> str:
    return repr(text if len(text) <= most else f"{text[: most - 1]}…")
