"""Expectations: what a case requires of an answer, as newel's criteria."""

from __future__ import annotations

import re
from typing import Any

_RUBRICS = "rubric_based_final_response_quality_v1"


class Expectations:
    """Collects the expectations of one case; several expectations of a kind must all hold."""

    def __init__(self) -> None:
        self._contained: list[str] = []
        self._patterns: list[str] = []
        self._rubrics: list[str] = []
        self._judge: str | None = None
        self._others: dict[str, Any] = {}

    def contains(self, text: str) -> None:
        """Require that the answer contains `text`."""
        self._contained.append(text)

    def matches(self, pattern: str, *, negated: bool = False) -> None:
        """Require that `pattern` is found in the answer, or that it is not."""
        self._patterns.append(rf"(?{'!' if negated else '='}[\s\S]*(?:{pattern}))")

    def one_of(
        self, texts: list[str], *, ignore_case: bool = False, negated: bool = False, start: bool = False
    ) -> None:
        """Require that the answer contains, or begins with, one of `texts`; or none of them."""
        flag = "(?i:" if ignore_case else "(?:"
        choice = f"{flag}{'|'.join(map(re.escape, texts))})"
        if start:
            self._patterns.append(rf"(?{'!' if negated else '='}\s*{choice})")
        else:
            self.matches(choice, negated=negated)

    def differs(self, text: str) -> None:
        """Require that the answer is not `text`."""
        self._patterns.append(rf"(?!\s*{re.escape(text.strip())}\s*\Z)")

    def rubric(self, text: str, judge: str | None = None) -> None:
        """Require that a judge finds that `text` holds."""
        self._rubrics.append(text)
        self._judge = self._judge or judge

    def metric(self, name: str, criterion: Any) -> bool:
        """Require a metric of newel; False if the case already has another criterion for it."""
        if name in self._others and self._others[name] != criterion:
            return False
        self._others[name] = criterion
        return True

    @property
    def criteria(self) -> dict[str, Any]:
        """The criteria of the case."""
        criteria = dict(self._others)
        if self._contained:
            criteria["contains"] = {"value": list(self._contained)}
        if self._patterns:
            criteria["regex"] = {"value": r"\A" + "".join(self._patterns)}
        if self._rubrics:
            options: dict[str, Any] = {"num_samples": 1}
            if self._judge:
                options["judge_model"] = self._judge
            criteria[_RUBRICS] = {
                "threshold": 1.0,
                "judge_model_options": options,
                "rubrics": [
                    {"rubric_id": f"r{number}", "rubric_content": {"text_property": text}}
                    for number, text in enumerate(self._rubrics, 1)
                ],
            }
        return criteria
