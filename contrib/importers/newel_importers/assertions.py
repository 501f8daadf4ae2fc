"""Assertions of promptfoo as wishes."""

from __future__ import annotations

import re
from typing import Any

from newel_importers.documents import text_of
from newel_importers.wishes import Wishes

#: Assertions on texts in the answer: (all texts are required, case is ignored).
_CONTAINS = {
    "contains": (True, False),
    "contains-all": (True, False),
    "contains-any": (False, False),
    "icontains": (True, True),
    "icontains-all": (True, True),
    "icontains-any": (False, True),
}
_RUBRICS = ("llm-rubric", "model-graded-closedqa", "g-eval")


def wish(wishes: Wishes, kind: str, value: Any, threshold: Any) -> bool:
    """Add an assertion to `wishes`; False if newel has no counterpart for it."""
    negated, name = kind.startswith("not-"), kind.removeprefix("not-")
    if name in _CONTAINS:
        return _contained(wishes, name, value, negated)
    if isinstance(value, (list, dict)):
        value = value if name in ("is-json", *_RUBRICS) else None
    if name == "equals" and value is not None:
        if negated:
            wishes.differs(text_of(value))
            return True
        return wishes.metric("equals", {"value": text_of(value)})
    if name == "starts-with" and value is not None:
        wishes.one_of([text_of(value)], negated=negated, start=True)
        return True
    if name == "regex" and value is not None:
        return _pattern(wishes, str(value), negated)
    if name == "is-refusal":
        return wishes.metric("refuses", {"value": not negated})
    return not negated and _measured(wishes, name, value, threshold)


def _contained(wishes: Wishes, name: str, value: Any, negated: bool) -> bool:
    every, ignore_case = _CONTAINS[name]
    if value is None:
        return False
    texts = [text_of(one) for one in (value if isinstance(value, list) else [value])]
    if negated and every and len(texts) > 1:
        return False  # not all of them: some may be present
    if every and not ignore_case and not negated:
        for text in texts:
            wishes.contains(text)
    elif every:
        for text in texts:
            wishes.one_of([text], ignore_case=ignore_case, negated=negated)
    else:
        wishes.one_of(texts, ignore_case=ignore_case, negated=negated)
    return True


def _pattern(wishes: Wishes, pattern: str, negated: bool) -> bool:
    if re.search(r"\\[1-9]", pattern):
        return False  # patterns are joined, which renumbers their groups
    try:
        re.compile(rf"(?=[\s\S]*(?:{pattern}))")  # as `Wishes.matches` uses it
    except re.error:
        return False  # another dialect of regular expressions
    wishes.matches(pattern, negated=negated)
    return True


def _measured(wishes: Wishes, name: str, value: Any, threshold: Any) -> bool:
    if name == "is-json":
        return wishes.metric("json_schema", {"value": value if isinstance(value, dict) else {}})
    if name == "latency" and threshold is not None:
        return wishes.metric("max_seconds", float(threshold) / 1000)
    if name == "cost" and threshold is not None:
        return wishes.metric("max_cost", float(threshold))
    if name == "rouge-n":
        return wishes.metric("response_match_score", float(0.75 if threshold is None else threshold))
    if name in ("factuality", "model-graded-factuality"):
        return wishes.metric("final_response_match_v2", {"threshold": 1.0, "judge_model_options": {"num_samples": 1}})
    if name in _RUBRICS and value is not None:
        for text in value if isinstance(value, list) else [value]:
            wishes.rubric(text_of(text))
        return True
    return False
