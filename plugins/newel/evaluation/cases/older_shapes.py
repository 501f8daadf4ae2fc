"""Older shapes of eval files: turns of `query` and `reference`, in one list or in a list of cases."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from newel.evaluation.cases.eval_case import EvalCase, IntermediateData, Invocation, SessionInput
from newel.evaluation.cases.eval_set import EvalSet
from newel.evaluation.metrics.eval_metrics import PrebuiltMetrics
from newel_kernel import ConfigurationError, seam
from newel_types import Content, FunctionCall, Part

#: Criteria that older test files may use, each with the keys that a turn needs for it.
NEEDS = {
    PrebuiltMetrics.TOOL_TRAJECTORY_AVG_SCORE.value: ("query", "expected_tool_use"),
    PrebuiltMetrics.RESPONSE_EVALUATION_SCORE.value: ("query",),
    PrebuiltMetrics.RESPONSE_MATCH_SCORE.value: ("query", "reference"),
    PrebuiltMetrics.SAFETY_V1.value: ("query",),
}
#: What errors say about a file that is neither.
MIGRATION = "AgentEvaluator.migrate_eval_data_to_new_schema(old_file, new_file) writes a file of either as an eval set"


def convert_eval_set_to_pydantic_schema(eval_set_id: str, eval_set_in_json_format: list[dict[str, Any]]) -> EvalSet:
    """The eval set of an older file's data, with fresh invocation ids and timestamps.

    The data is a list of cases, each with `name` and `data`, or a list of turns, which is one case of the set's name.
    """
    cases = [_case(old, eval_set_id, place) for place, old in older_cases(eval_set_in_json_format, eval_set_id).items()]
    return EvalSet(eval_set_id=eval_set_id, name=eval_set_id, eval_cases=cases, creation_timestamp=seam.clock())


def older_cases(data: Any, name: str, session: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The cases in an older file's data, by their place in it.

    `name` is that of a list of turns, which is one case; `session` is that of cases which have none of their own.
    """
    items = data if isinstance(data, list) else [data]
    if any(isinstance(one, dict) and "query" in one and "data" not in one for one in items):
        return {"": {"name": name, "data": items, "initial_session": session}}
    return {f"[{number}]": _with_session(old, session) for number, old in enumerate(items)}


def is_older(data: Any) -> bool:
    """Whether a file's data has the older format: a list, or a case or a turn alone."""
    return isinstance(data, list) or (isinstance(data, dict) and ("data" in data or "query" in data))


def _with_session(old: Any, session: Mapping[str, Any] | None) -> Any:
    if not session or not isinstance(old, dict) or old.get("initial_session"):
        return old
    return {**old, "initial_session": session}


def load_json(file_path: str) -> Any:
    """The JSON of a file."""
    with open(file_path, encoding="utf-8") as file:
        return json.load(file)


def check_older_data(turns: Sequence[dict[str, Any]], criteria: Sequence[str], source: str) -> None:
    """Refuse criteria that older files do not support, and turns without the keys that they need."""
    for name in criteria:
        if name not in NEEDS:
            raise ValueError(
                f"{source}: the criterion {name!r} is not for files of the older format; "
                f"use one of {', '.join(NEEDS)}, or migrate the file"
            )
        missing = [key for key in NEEDS[name] if not turns or key not in turns[0]]
        if missing:
            raise ValueError(f"{source}: {name} needs `{'`, `'.join(missing)}` in the first turn, which has none")


def _case(old: dict[str, Any], file: str, place: str) -> EvalCase:
    if not isinstance(old, dict) or not isinstance(old.get("data"), list) or "name" not in old:
        raise ConfigurationError(
            f"{file}{place}: a case of the older format is an object with `name` and a list `data`; a file with one "
            f"case may be the list of its turns, each with a `query`. {MIGRATION}"
        )
    session = old.get("initial_session") or None
    turns = f"{file}{place}.data" if place else file
    return EvalCase(
        eval_id=str(old["name"]),
        conversation=[_turn(turn, f"{turns}[{number}]") for number, turn in enumerate(old["data"])],
        session_input=_session(session) if session else None,
        creation_timestamp=seam.clock(),
    )


def _session(session: dict[str, Any]) -> SessionInput:
    return SessionInput(
        app_name=session.get("app_name", ""), user_id=session.get("user_id", ""), state=session.get("state", {})
    )


def _turn(old: dict[str, Any], where: str) -> Invocation:
    if not isinstance(old, dict) or not isinstance(old.get("query"), str):
        raise ConfigurationError(f"{where}: a turn of the older format is an object with a text `query`. {MIGRATION}")
    reference, answers = old.get("reference") or "", old.get("expected_intermediate_agent_responses") or []
    if not isinstance(reference, str):
        raise ConfigurationError(f"{where}.reference is a text, the answer that is expected; it is {reference!r}")
    if not isinstance(answers, list) or not all(isinstance(one, dict) for one in answers):
        raise ConfigurationError(
            f"{where}.expected_intermediate_agent_responses is a list of objects with `author` and `text`"
        )
    return Invocation(
        invocation_id=seam.new_id(),
        user_content=Content(role="user", parts=[Part(text=old["query"])]),
        final_response=Content(role="model", parts=[Part(text=reference)]),
        intermediate_data=IntermediateData(
            tool_uses=_uses(old.get("expected_tool_use"), where),
            intermediate_responses=[(one.get("author") or "", [Part(text=one.get("text") or "")]) for one in answers],
        ),
        creation_timestamp=seam.clock(),
    )


def _uses(source: Any, where: str) -> list[FunctionCall]:
    """The expected calls; the specification writes them as a text, the JSON of the list."""
    uses = source or []
    if isinstance(source, str) and source:
        try:
            uses = json.loads(source)
        except ValueError:
            uses = source
    if not isinstance(uses, list) or not all(isinstance(use, dict) and "tool_name" in use for use in uses):
        raise ConfigurationError(
            f"{where}.expected_tool_use is a list of objects with `tool_name` and `tool_input`, or its JSON as a string"
        )
    return [FunctionCall(name=use["tool_name"], args=use.get("tool_input")) for use in uses]
