"""Sets and results: their files, their managers, older shapes, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


def test_what_is_neither_old_nor_new_names_the_migration(tmp_path: Path) -> None:
    path = tmp_path / "old.test.json"
    for text in ('[{"prompt": "hi"}]', '["hi"]', '[{"name": "x"}]', '[{"query": 1}]', '[{"query": "a"}, {"data": []}]'):
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
