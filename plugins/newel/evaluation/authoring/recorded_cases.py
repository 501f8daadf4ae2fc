"""Cases made of stored sessions: questions, calls and answers, without what must not be shared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from newel.evaluation.cases.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
    InvocationEvents,
    SessionInput,
    get_all_tool_calls,
    get_all_tool_responses,
)
from newel.evaluation.inference.evaluation_generator import EvaluationGenerator
from newel.evaluation.runs.cassettes import masked
from newel_kernel import ConfigurationError, Session, seam

Rule = tuple[re.Pattern[str], str]
#: Mail addresses, card numbers and phone numbers. Secrets are masked in any case.
PERSONAL: tuple[Rule, ...] = (
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "[mail]"),
    (re.compile(r"\b(?:\d[ -]?){13,16}\b"), "[card]"),
    (re.compile(r"(?<![\w.])\+?\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?(?:\d{2,4}[ .-]){2,4}\d{2,4}\b"), "[phone]"),
)


def rule_of(text: str) -> Rule:
    """The rule written as ``PATTERN=REPLACEMENT``; without ``=``, matches are removed."""
    pattern, _, replacement = text.rpartition("=") if "=" in text else (text, "", "")
    try:
        return re.compile(pattern), replacement
    except re.error as error:
        raise ConfigurationError(f"{pattern!r} is not a pattern: {error}") from None


def redacted(value: Any, rules: Sequence[Rule]) -> Any:
    """JSON data with every text redacted, the keys of objects unchanged."""
    if isinstance(value, str):
        text = masked(value)
        for pattern, replacement in rules:
            text = pattern.sub(replacement, text)
        return text
    if isinstance(value, dict):
        return {key: redacted(one, rules) for key, one in value.items()}
    if isinstance(value, list):
        return [redacted(one, rules) for one in value]
    return value


def case_of_session(
    session: Session, eval_id: str | None = None, rules: Sequence[Rule] = PERSONAL, tags: Sequence[str] = ()
) -> EvalCase:
    """A case whose turns, calls, answers and final state are those of a stored session."""
    turns = EvaluationGenerator.convert_events_to_eval_invocations(session.events)
    case = EvalCase(
        eval_id=eval_id or f"session_{session.id}",
        conversation=[_expected(turn) for turn in turns if turn.user_content.parts],
        session_input=SessionInput(app_name=session.app_name, user_id="user"),
        final_session_state=dict(session.state),
        creation_timestamp=seam.clock(),
        tags=list(tags),
        source={"app_name": session.app_name, "session_id": session.id, "events": len(session.events)},
    )
    data = case.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    fields = {"eval_id": data["eval_id"], "source": data["source"]}
    return EvalCase.model_validate({**redacted(data, rules), **fields})


def _expected(turn: Invocation) -> Invocation:
    """The turn as an expectation, in the form that every release reads."""
    data = turn.intermediate_data
    events = data.invocation_events if isinstance(data, InvocationEvents) else ()
    texts = [
        (event.author, parts)
        for event in events
        if event.content is not None
        and (parts := [part for part in event.content.parts or () if part.text and not part.thought])
    ]
    return Invocation(
        invocation_id=turn.invocation_id,
        user_content=turn.user_content,
        final_response=turn.final_response,
        intermediate_data=IntermediateData(
            tool_uses=get_all_tool_calls(data),
            tool_responses=get_all_tool_responses(data),
            intermediate_responses=texts,
        ),
        creation_timestamp=turn.creation_timestamp,
    )
