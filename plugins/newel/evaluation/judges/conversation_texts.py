"""Whole conversations as texts for a judge."""

from __future__ import annotations

from collections.abc import Sequence

from newel.evaluation.cases.eval_case import Invocation
from newel.evaluation.judges.llm_as_judge_utils import steps_of
from newel.evaluation.metrics.scoring import answer_of, text_of


def dialogue(turns: Sequence[Invocation], with_steps: bool = True) -> str:
    """What the user and the agent said, turn by turn, with the agent's steps if `with_steps`."""
    lines = []
    for number, turn in enumerate(turns, 1):
        lines.append(f"Turn {number}\nuser: {text_of(turn.user_content)}")
        steps = steps_of(turn.intermediate_data) if with_steps and turn.intermediate_data is not None else ""
        if steps:
            lines.append(steps)
        lines.append(f"agent: {answer_of(turn)}")
    return "\n".join(lines)
