"""Assertions of promptfoo as expectations."""

from __future__ import annotations

import re
from typing import Any

from newel_importers.documents import text_of
from newel_importers.expectations import Expectations

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


def expect(expectations: Expectations, kind: str, value: Any, threshold: Any) -> bool:
    """Add an assertion to `expectations`; False if newel has no counterpart for it."""
    negated, name = kind.startswith("not-"), kind.removeprefix("not-")
    if name in _CONTAINS:
        return _contained(expectations, name, value, negated)
    if isinstance(value, (list, dict)):
        value = value if name in ("is-json", *_RUBRICS) else None
    if name == "equals" and value is not None:
        if negated:
            expectations.differs(text_of(value))
            return True
        return expectations.metric("equals", {"value": text_of(value)})
    if name == "starts-with" and value is not None:
        expectations.one_of([text_of(value)], negated=negated, start=True)
        return True
    if name == "regex" and value is not None:
        return _pattern(expectations, str(value), negated)
    if name == "is-refusal":
        return expectations.metric("refuses", {"value": not negated})
    return not negated and _measured(expectations, name, value, threshold)


def _contained(expectations: Expectations, name: str, value: Any, negated: bool) -> bool:
    every, ignore_case = _CONTAINS[name]
    if value is None:
        return False
    texts = [text_of(one) for one in (value if isinstance(value, list) else [value])]
    if negated and every and len(texts) > 1:
        return False  # not all of them: some may be present
    if every and not ignore_case and not negated:
        for text in texts:
            expectations.contains(text)
    elif every:
        for text in texts:
            expectations.one_of([text], ignore_case=ignore_case, negated=negated)
    else:
        expectations.one_of(texts, ignore_case=ignore_case, negated=negated)
    return True


def _pattern(expectations: Expectations, pattern: str, negated: bool) -> bool:
    if re.search(r"\\[1-9]", pattern):
        return False  # patterns are joined, which renumbers their groups
    try:
        re.compile(rf"(?=[\s\S]*(?:{pattern}))")  # as `Expectations.matches` uses it
    except re.error:
        return False  # another dialect of regular expressions
    expectations.matches(pattern, negated=negated)
    return True


def _measured(expectations: Expectations, name: str, value: Any, threshold: Any) -> bool:
    if name == "is-json":
        return expectations.metric("json_schema", {"value": value if isinstance(value, dict) else {}})
    if name == "latency" and threshold is not None:
        return expectations.metric("max_seconds", float(threshold) / 1000)
    if name == "cost" and threshold is not None:
        return expectations.metric("max_cost", float(threshold))
    if name == "rouge-n":
        return expectations.metric("response_match_score", float(0.75 if threshold is None else threshold))
    if name in ("factuality", "model-graded-factuality"):
        return expectations.metric(
            "final_response_match_v2", {"threshold": 1.0, "judge_model_options": {"num_samples": 1}}
        )
    if name in _RUBRICS and value is not None:
        for text in value if isinstance(value, list) else [value]:
            expectations.rubric(text_of(text))
        return True
    return False
