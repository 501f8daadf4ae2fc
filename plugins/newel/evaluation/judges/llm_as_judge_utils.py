"""Helpers for judges' prompts and answers: labels, and turns as JSON texts."""

from __future__ import annotations

import json
import re
import string
from enum import Enum
from typing import Any

from newel.evaluation.cases.app_details import AppDetails
from newel.evaluation.cases.eval_case import (
    IntermediateDataType,
    InvocationEvents,
    get_all_tool_calls_with_responses,
)
from newel.evaluation.metrics.eval_metrics import EvalStatus, RubricScore
from newel.evaluation.metrics.scoring import mean, status_of, text_of
from newel.evaluation.plugins import to_the_letter
from newel_types import Content


class Label(Enum):
    """The labels that a judge may give an answer."""

    TRUE = "true"
    INVALID = "invalid"
    VALID = "valid"
    PARTIALLY_VALID = "partially_valid"
    PARTIALLY = "partially"
    ALMOST = "almost"
    FALSE = "false"
    NOT_FOUND = "label field not found"


GOOD = frozenset((Label.VALID, Label.TRUE))
_AROUND = string.whitespace + string.punctuation
_JOINTS = re.compile(r"[\s_-]+")
BAD = frozenset((Label.INVALID, Label.ALMOST, Label.FALSE, Label.PARTIALLY_VALID, Label.PARTIALLY))


def label_of(text: str) -> Label:
    """The label of that name, whatever its case, the marks around it, and what joins its words; `adk`: exactly."""
    name = text if to_the_letter() else _JOINTS.sub("_", text.strip(_AROUND).casefold())
    return next((label for label in Label if label.value == name), Label.NOT_FOUND)


def score_of(label: Label) -> float | None:
    """1 for a good label, 0 for a bad one, None for another."""
    if label in GOOD:
        return 1.0
    return 0.0 if label in BAD else None


def field(name: str) -> re.Pattern[str]:
    """What a judge writes under a key of its JSON object: the text, in quotes or bare, alone or in a list."""
    return re.compile(rf"""["']{name}["']\s*:\s*\[*\s*(?:"([^"\n]*)"|'([^'\n]*)'|([^"'\s\],}}]+))""", re.IGNORECASE)


def last_of(pattern: re.Pattern[str], answer: str) -> str | None:
    """What a judge writes last under a field: its verdict comes after its reasons."""
    found = pattern.findall(answer)
    return next((text for text in found[-1] if text), "") if found else None


def get_text_from_content(content: Content | None) -> str | None:
    """The text parts, one under the other; None if there is no content."""
    return text_of(content) if content is not None else None


def get_eval_status(score: float | None, threshold: float) -> EvalStatus:
    """PASSED from the threshold on."""
    return status_of(score, threshold)


def get_average_rubric_score(rubric_scores: list[RubricScore]) -> float | None:
    """The mean of the rubrics that have a score."""
    return mean(one.score for one in rubric_scores if one.score is not None)


def get_tool_declarations_as_json_str(app_details: AppDetails) -> str:
    """The tools of each agent."""
    return _json({"tool_declarations": tool_declarations(app_details)})


def tool_declarations(app_details: AppDetails | None) -> dict[str, Any]:
    """The tools of each agent, as JSON data."""
    agents = app_details.agent_details if app_details is not None else {}
    return {
        name: [tool.model_dump(mode="json", exclude_none=True) for tool in agent.tool_declarations]
        for name, agent in agents.items()
    }


def get_tool_calls_and_responses_as_json_str(intermediate_data: IntermediateDataType | None) -> str:
    """Each call with its response."""
    return _json({"tool_calls_and_response": calls_and_responses(intermediate_data)})


def calls_and_responses(intermediate_data: IntermediateDataType | None) -> list[dict[str, Any]]:
    """Each call with its response, as JSON data."""
    return [
        {
            "step": step,
            "tool_call": call.model_dump(mode="json", exclude_none=True),
            "tool_response": response.model_dump(mode="json", exclude_none=True) if response is not None else "None",
        }
        for step, (call, response) in enumerate(get_all_tool_calls_with_responses(intermediate_data))
    ]


def steps_of(intermediate_data: IntermediateDataType | None) -> str:
    """The intermediate steps, one line for each text, call and response."""
    if not isinstance(intermediate_data, InvocationEvents):
        return _json(calls_and_responses(intermediate_data))
    return "\n".join(line for e in intermediate_data.invocation_events for line in _lines(e.author, e.content))


def _lines(author: str, content: Content | None) -> list[str]:
    lines = []
    for part in content.parts or () if content is not None else ():
        if part.text and not part.thought:
            lines.append(f"{author}: {part.text}")
        if part.function_call is not None:
            call = part.function_call
            lines.append(f"{author} calls {call.name} with {_json(call.args or {})}")
        if part.function_response is not None:
            response = part.function_response
            lines.append(f"{response.name} returns {_json(response.response)}")
    return lines


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)
