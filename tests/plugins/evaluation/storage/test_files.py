"""Sets and results: their files, their managers, older shapes, bad input."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.agent_evaluator import AgentEvaluator
from newel.evaluation.eval_case import EvalCase, get_all_tool_calls
from newel.evaluation.eval_metrics import EvalStatus
from newel.evaluation.eval_result import EvalCaseResult
from newel.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from newel.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager
from newel.evaluation.local_eval_sets_manager import LocalEvalSetsManager, load_eval_set_from_file
from newel.evaluation.storage.in_memory_eval_set_results_manager import InMemoryEvalSetResultsManager
from newel_kernel import ConfigurationError


@pytest.fixture(params=["memory", "files"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    (tmp_path / "demo").mkdir()
    return InMemoryEvalSetsManager() if request.param == "memory" else LocalEvalSetsManager(tmp_path)


def test_a_set_lives(manager: Any, kit: Any) -> None:
    manager.create_eval_set("demo", "one")
    manager.add_eval_case("demo", "one", kit.case("c1", kit.turn("hi", "hello")))
    manager.update_eval_case("demo", "one", kit.case("c1", kit.turn("hi", "changed")))
    found = manager.get_eval_case("demo", "one", "c1")
    assert found.conversation[0].final_response.parts[0].text == "changed"
    assert manager.list_eval_sets("demo") == ["one"]
    manager.delete_eval_case("demo", "one", "c1")
    assert manager.get_eval_set("demo", "one").eval_cases == []


def test_what_a_manager_refuses(manager: Any, kit: Any) -> None:
    manager.create_eval_set("demo", "one")
    case = kit.case("c1", kit.turn("hi"))
    manager.add_eval_case("demo", "one", case)
    with pytest.raises(ValueError, match="exists"):
        manager.create_eval_set("demo", "one")
    with pytest.raises(ValueError, match="already has a case 'c1'"):
        manager.add_eval_case("demo", "one", case)
    with pytest.raises(NotFoundError, match="has no case 'c2'"):
        manager.delete_eval_case("demo", "one", "c2")
    with pytest.raises(NotFoundError, match="no eval set 'two'"):
        manager.add_eval_case("demo", "two", case)
    for bad in ("a-b", "../up", ""):
        with pytest.raises(ValueError, match="invalid eval set id"):
            manager.create_eval_set("demo", bad)
    for bad in ("..", "a/b", ""):
        with pytest.raises(ValueError, match="invalid app name"):
            manager.create_eval_set(bad, "one")


def test_a_file_holds_only_what_is_set(tmp_path: Path, kit: Any) -> None:
    (tmp_path / "demo").mkdir()
    manager = LocalEvalSetsManager(tmp_path)
    manager.create_eval_set("demo", "one")
    manager.add_eval_case("demo", "one", kit.case("c1", kit.turn("hi", "hello"), tags=["fast"]))
    data = json.loads((tmp_path / "demo" / "one.evalset.json").read_text())
    assert set(data) == {"eval_set_id", "name", "eval_cases", "creation_timestamp"}
    assert set(data["eval_cases"][0]) == {"eval_id", "conversation", "tags"}
    assert not list((tmp_path / "demo").glob("*.part"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"eval_set_id": "s", "eval_cases": [], "colour": 1}', "colour: Extra inputs"),
        ('{"eval_set_id": "s", "eval_cases": [{"eval_id": "c"}]}', "eval_cases.0.*either `conversation`"),
        (
            '{"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [{"userContent": 3}]}]}',
            "user_?[cC]ontent",
        ),
        ("nonsense", "is not JSON"),
        ('[{"nome": "x"}]', r"one\[0\]: a case of the older format"),
        ('[{"name": "x", "data": [{"query": 1}]}]', r"data\[0\]: a turn of the older format"),
    ],
)
def test_a_bad_file_says_where(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "one.evalset.json"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=says):
        load_eval_set_from_file(path, "one")


USES: dict[str, Any] = {
    "list": [{"tool_name": "look", "tool_input": {"a": 1}}],
    "text": '[{"tool_name": "look", "tool_input": {"a": 1}}]',
    "author": [{"agent_name": "x", "tool_name": "look", "tool_input": {"a": 1}, "mock_tool_output": "y"}],
    "bare": [{"tool_name": "look"}],
    "none": [],
    "null": None,
}


@pytest.mark.parametrize("uses", USES)
@pytest.mark.parametrize("shape", ["turns", "turn", "cases", "case"])
@pytest.mark.parametrize("reference", ["ok", "", None])
def test_older_files_have_one_case_or_several(shape: str, uses: str, reference: str | None, tmp_path: Path) -> None:
    turn: dict[str, Any] = {"query": "hi", "reference": reference, "expected_tool_use": USES[uses]}
    one = {"name": "first", "data": [turn], "initial_session": {"state": {"k": 1}}}
    path = tmp_path / "old.test.json"
    path.write_text(json.dumps({"turns": [turn, turn], "turn": turn, "cases": [one, one], "case": one}[shape]))
    cases = load_eval_set_from_file(path, "old").eval_cases
    assert [len(case.conversation or ()) for case in cases] == {"turns": [2], "cases": [1, 1]}.get(shape, [1])
    assert {case.eval_id for case in cases} == ({"old"} if shape.startswith("turn") else {"first"})
    calls = get_all_tool_calls((cases[0].conversation or [])[0].intermediate_data)
    assert [(call.name, call.args or {}) for call in calls] == (
        [] if uses in ("none", "null") else [("look", {} if uses == "bare" else {"a": 1})]
    )
    AgentEvaluator.migrate_eval_data_to_new_schema(str(path), str(tmp_path / "new.evalset.json"))
    new = load_eval_set_from_file(tmp_path / "new.evalset.json", "new").eval_cases
    assert [len(case.conversation or ()) for case in new] == [len(case.conversation or ()) for case in cases]


def _case_of(draw: Any, kind: str, number: int) -> Any:
    """A case of `kind`, with keys in either spelling and its name or without."""
    size = draw(st.integers(1, 3))
    turns = [{"query": f"q{index}", "reference": "r", "expected_tool_use": []} for index in range(size)]
    if kind == "older":
        return {"data": turns} | ({"name": f"c{number}"} if draw(st.booleans()) else {})
    if kind == "turns":
        return turns
    camel = draw(st.booleans())
    asked = [{("userContent" if camel else "user_content"): {"parts": [{"text": t["query"]}]}} for t in turns]
    return {("evalId" if camel else "eval_id"): f"c{number}", "conversation": asked}


@given(st.data())
def test_cases_load_whatever_is_around_them_and_migrate(data: Any) -> None:
    draw = data.draw
    kind = draw(st.sampled_from(["older", "turns", "new"]))
    around = draw(st.sampled_from(["names", "list", "set", "one"]))
    cases = [_case_of(draw, kind, number) for number in range(1 if around == "one" else draw(st.integers(1, 3)))]
    assume(around == "names" or kind == "new" or (kind == "older" and all("name" in one for one in cases)))
    assume(around != "set" or kind == "new")
    key = draw(st.sampled_from(["eval_cases", "evalCases"]))
    named = {f"k{number}": one for number, one in enumerate(cases)}
    shape = {"names": named, "list": cases, "set": {key: cases}, "one": cases[0]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "loose.test.json")
        path.write_text(json.dumps(shape[around]))
        found = load_eval_set_from_file(path, "loose")
        AgentEvaluator.migrate_eval_data_to_new_schema(str(path), str(Path(folder, "new.evalset.json")))
        migrated = load_eval_set_from_file(Path(folder, "new.evalset.json"), "new")
    assert found.eval_set_id == "loose"
    for cases_found in (found.eval_cases, migrated.eval_cases):
        asked = [[turn.user_content.parts[0].text for turn in case.conversation or ()] for case in cases_found]
        sizes = [len(one if isinstance(one, list) else one.get("data") or one["conversation"]) for one in cases]
        assert asked == [[f"q{index}" for index in range(size)] for size in sizes]
        unnamed = [kind == "turns" or (kind == "older" and "name" not in one) for one in cases]
        assert [case.eval_id for case in cases_found] == [f"{'k' if k else 'c'}{n}" for n, k in enumerate(unnamed)]


@pytest.mark.parametrize("shape", ["file", "one", "list"])
def test_a_file_of_scenarios_names_the_command_that_makes_cases_of_them(shape: str, tmp_path: Path) -> None:
    one = {"starting_prompt": "hi", "conversation_plan": "ask"}
    path = tmp_path / "scenarios.json"
    path.write_text(json.dumps({"file": {"scenarios": [one]}, "one": one, "list": [one, one]}[shape]))
    for read in (lambda: load_eval_set_from_file(path, "s"), lambda: _migrated(path)):
        with pytest.raises(ConfigurationError, match="newel eval_set add_eval_case"):
            read()


def _migrated(path: Path) -> None:
    AgentEvaluator.migrate_eval_data_to_new_schema(str(path), str(path.with_suffix(".new")))


def test_what_is_neither_old_nor_new_names_the_migration(tmp_path: Path) -> None:
    path = tmp_path / "old.test.json"
    unknown = ('{"prompt": "hi"}', "{}", "3", '[{"prompt": "hi"}]', '["hi"]')
    for text in (*unknown, '[{"name": "x"}]', '[{"query": 1}]', '[{"query": "a"}, {"data": []}]'):
        path.write_text(text)
        with pytest.raises(ConfigurationError, match="migrate_eval_data_to_new_schema"):
            load_eval_set_from_file(path, "old")


def test_unknown_keys_of_a_case_are_kept() -> None:
    case = EvalCase.model_validate({"evalId": "c", "conversation": [], "reviewer": "ann"})
    assert case.model_dump(exclude_unset=True)["reviewer"] == "ann"


@pytest.mark.parametrize("kind", ["memory", "files"])
def test_results_are_kept(kind: str, tmp_path: Path) -> None:
    manager = InMemoryEvalSetResultsManager() if kind == "memory" else LocalEvalSetResultsManager(tmp_path)
    result = EvalCaseResult(
        eval_set_id="s",
        eval_id="c",
        final_eval_status=EvalStatus.PASSED,
        overall_eval_metric_results=[],
        eval_metric_result_per_invocation=[],
        session_id="x",
    )
    assert manager.list_eval_set_results("demo") == []
    manager.save_eval_set_result("demo", "s", [result])
    (name,) = manager.list_eval_set_results("demo")
    assert name.startswith("demo_s_")
    assert manager.get_eval_set_result("demo", name).eval_case_results[0].eval_id == "c"
    with pytest.raises(NotFoundError):
        manager.get_eval_set_result("demo", "../ghost")
