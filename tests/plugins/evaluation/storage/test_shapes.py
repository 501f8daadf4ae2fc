"""The shapes of evaluation files that people have: each loads, or its error names what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from newel.evaluation.local_eval_sets_manager import load_eval_set_from_file
from newel_kernel import ConfigurationError

TURN: dict[str, Any] = {
    "query": "hi",
    "expected_tool_use": [{"tool_name": "look", "tool_input": {"a": 1}}],
    "reference": "ok",
}
OLD: dict[str, Any] = {"name": "first", "data": [TURN], "initial_session": {"state": {"k": 1}, "app_name": "a"}}
ASKED: dict[str, Any] = {"role": "user", "parts": [{"text": "hi"}]}
ANSWER: dict[str, Any] = {"role": "model", "parts": [{"text": "ok"}]}
CALL: dict[str, Any] = {"name": "look", "args": {"a": 1}}
UNSET = dict.fromkeys(["video_metadata", "thought", "inline_data", "file_data", "executable_code", "function_call"])
SESSION: dict[str, Any] = {"app_name": "a", "user_id": "u", "state": {}}
PLAN: dict[str, Any] = {"starting_prompt": "hi", "conversation_plan": "ask"}


def case(turn: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    calls = {"tool_uses": [CALL], "intermediate_responses": []}
    given = {"user_content": ASKED, "final_response": ANSWER, "intermediate_data": calls, **(turn or {})}
    return {"eval_id": "first", "conversation": [given], "session_input": SESSION, **fields}


def eval_set(*cases: Any, **fields: Any) -> dict[str, Any]:
    return {"eval_set_id": "s", "name": "s", "eval_cases": list(cases), "creation_timestamp": 1747337309.2, **fields}


CAMEL: dict[str, Any] = {
    "evalId": "first",
    "conversation": [
        {
            "invocationId": "",
            "userContent": ASKED,
            "finalResponse": ANSWER,
            "intermediateData": {"toolUses": [{"id": "x", **CALL}], "intermediateResponses": [["a", [{"text": "t"}]]]},
        }
    ],
    "sessionInput": {"appName": "a", "userId": "u", "state": {}},
}
EVENTS = {"invocation_events": [{"author": "a", "content": {"role": "model", "parts": [{"function_call": CALL}]}}]}
LOADED: dict[str, Any] = {
    "a set": eval_set(case()),
    "a set in camel case": {"evalSetId": "s", "evalCases": [CAMEL], "creationTimestamp": 1.0},
    "a set with unset fields": eval_set(case({"user_content": {"role": "user", "parts": [{**UNSET, "text": "hi"}]}})),
    "a set with events": eval_set(case({"intermediate_data": EVENTS})),
    "a set with responses": eval_set(
        case({"intermediate_data": {"tool_uses": [CALL], "tool_responses": [{"name": "look", "response": {"r": 1}}]}})
    ),
    "a set with older names of calls": eval_set(case({"intermediate_data": {"tool_uses": TURN["expected_tool_use"]}})),
    "a set with details of the app": eval_set(
        case({"app_details": {"agent_details": {"a": {"name": "a", "instructions": "x", "tool_declarations": []}}}})
    ),
    "a set without sessions": eval_set({key: value for key, value in case().items() if key != "session_input"}),
    "a set whose session is null": eval_set(case(session_input=None)),
    "a set with rubrics": eval_set(case(rubrics=[{"rubric_id": "r", "rubric_content": {"text_property": "good"}}])),
    "a set with a final state": eval_set(case(final_session_state={"k": 1})),
    "a set with keys of the reader's own": eval_set(case(reviewer="ann")),
    "a set without an id": {"eval_cases": [case()]},
    "a set of cases by name": {"eval_set_id": "s", "eval_cases": {"first": case()}},
    "a set of older cases": {"eval_set_id": "s", "eval_cases": [OLD]},
    "a list of cases": [case()],
    "one case": case(),
    "cases by name": {"first": {key: value for key, value in case().items() if key != "eval_id"}},
    "older turns": [TURN],
    "an older turn": TURN,
    "older cases": [OLD],
    "an older case": OLD,
    "older cases by name": {"first": {"data": [TURN]}},
    "older turns by name": {"first": [TURN]},
    "older turns with what agents said": [
        {**TURN, "expected_intermediate_agent_responses": [{"author": "a", "text": ""}]}
    ],
    "older turns with results of tools": [
        {**TURN, "expected_tool_use": [{**TURN["expected_tool_use"][0], "mock_tool_output": {"r": 1}}]}
    ],
    "older turns with keys of the reader's own": [{**TURN, "reviewer": "ann"}],
}
REFUSED: dict[str, tuple[Any, str]] = {
    "scenarios": ({"scenarios": [PLAN]}, "newel eval_set add_eval_case"),
    "a list of scenarios": ([PLAN], "newel eval_set add_eval_case"),
    "turns that ask nothing": ([{"prompt": "hi"}], "migrate_eval_data_to_new_schema"),
    "turns and cases": ([TURN, [TURN]], "migrate_eval_data_to_new_schema"),
}


def written(data: Any, folder: Path) -> Path:
    path = folder / "first.test.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize("shape", LOADED)
def test_it_loads(shape: str, tmp_path: Path) -> None:
    (found,) = load_eval_set_from_file(written(LOADED[shape], tmp_path), "first").eval_cases
    (turn,) = found.conversation or ()
    assert found.eval_id == "first"
    assert turn.user_content.parts[0].text == "hi"
    assert turn.final_response is not None
    assert turn.final_response.parts[0].text == "ok"


@pytest.mark.parametrize("shape", REFUSED)
def test_its_error_names_what_to_do(shape: str, tmp_path: Path) -> None:
    data, remedy = REFUSED[shape]
    with pytest.raises(ConfigurationError, match=remedy):
        load_eval_set_from_file(written(data, tmp_path), "first")


def test_a_scenario_is_a_case(tmp_path: Path) -> None:
    data = eval_set({"eval_id": "first", "conversation_scenario": PLAN, "session_input": SESSION})
    (found,) = load_eval_set_from_file(written(data, tmp_path), "first").eval_cases
    assert found.conversation_scenario is not None
