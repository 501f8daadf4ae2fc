"""Loose shapes of eval files: cases without the set around them, and sets without their id."""

from __future__ import annotations

from typing import Any

from newel.evaluation.cases.older_shapes import is_older
from newel_kernel import ConfigurationError

_CASE = {"eval_id", "evalId", "conversation", "conversation_scenario", "conversationScenario"}
_OLDER_CASE = {"data"}
_SCENARIO = {"starting_prompt", "startingPrompt"}
_CASES = ("eval_cases", "evalCases")
_SET_ID = {"eval_set_id", "evalSetId"}
#: What errors say about a file of scenarios.
SCENARIOS = (
    "it holds scenarios, not cases; `newel eval_set add_eval_case AGENT_DIR EVAL_SET_ID --scenarios_file FILE` adds a "
    "case for each to a set"
)


def reshaped(data: Any, set_id: str) -> Any:
    """A file's data as an eval set, or in the older format; data of no known shape is returned unchanged.

    A set without an id gets `set_id`. One case, or a list of cases, becomes a set. In an object of cases by name, in a
    set or alone, the names become their ids. Scenarios are a ConfigurationError with the command that makes cases of
    them.
    """
    if isinstance(data, dict) and data.keys() & {*_CASES} and not is_older(data):
        return _of_set(data, set_id)
    if isinstance(data, dict) and not is_older(data) and not data.keys() & _SET_ID:
        return _of_object(data, set_id)
    if isinstance(data, list) and _all(data, _SCENARIO):
        raise ConfigurationError(SCENARIOS)
    return {"eval_set_id": set_id, "eval_cases": data} if isinstance(data, list) and _all(data, _CASE) else data


def _of_set(data: dict[str, Any], set_id: str) -> Any:
    """A set, with its id and a list of cases; if these are of the older format, they alone."""
    key = next(key for key in _CASES if key in data)
    cases = data[key]
    if isinstance(cases, dict) and cases:
        found = _of_object(cases, set_id)
        cases = found["eval_cases"] if isinstance(found, dict) and "eval_cases" in found else found
    if isinstance(cases, list) and cases and all(is_older(case) and "data" in case for case in cases):
        return cases
    return {**({} if data.keys() & _SET_ID else {"eval_set_id": set_id}), **data, key: cases}


def _of_object(data: dict[str, Any], set_id: str) -> Any:
    if isinstance(data.get("scenarios"), list) or data.keys() & _SCENARIO:
        raise ConfigurationError(SCENARIOS)
    if data.keys() & _CASE:
        return {"eval_set_id": set_id, "eval_cases": [data]}
    if _all(list(data.values()), _CASE):
        named = [one if one.keys() & {"eval_id", "evalId"} else {"eval_id": key, **one} for key, one in data.items()]
        return {"eval_set_id": set_id, "eval_cases": named}
    older = {key: _older_case(key, value) for key, value in data.items()}
    return list(older.values()) if older and None not in older.values() else data


def _older_case(name: str, value: Any) -> dict[str, Any] | None:
    """A case of the older format from an object of cases by name: an object with `data`, a turn or a list of turns."""
    if isinstance(value, dict):
        if value.keys() & _OLDER_CASE:
            return {"name": name, **value}
        value = [value]
    return {"name": name, "data": value} if isinstance(value, list) and _all(value, {"query"}) else None


def _all(items: list[Any], keys: set[str]) -> bool:
    """Whether there are items, and each is an object with one of the keys."""
    return bool(items) and all(isinstance(one, dict) and one.keys() & keys for one in items)
