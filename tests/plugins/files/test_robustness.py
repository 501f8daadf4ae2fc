"""Whatever a file holds, it is read or refused with file and line; nothing else comes out of the loader."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.files import load_file
from newel_compose import Composition, compose
from newel_kernel import AgentConfigError

AGENT: dict[str, Any] = {
    "agent_class": "LlmAgent",
    "name": "x",
    "model": "demo:",
    "instruction": "i",
    "static_instruction": {"role": "user", "parts": [{"text": "t"}]},
    "tools": ["google_search", {"name": "AgentTool", "args": {"agent": {"config_path": "child.yaml"}}}, "code.f"],
    "sub_agents": [{"config_path": "child.yaml"}],
    "generate_content_config": {"temperature": 0.1, "thinking_config": {"thinking_budget": 1}},
    "output_schema": {"type": "object"},
    "planner": {"name": "BuiltInPlanner", "args": {"thinking_config": {"thinking_budget": 1}}},
    "before_model_callback": [{"name": "code.g", "args": [{"name": "n", "value": 1}]}],
}
APP: dict[str, Any] = {
    "name": "desk",
    "root_agent": {"config_path": "child.yaml"},
    "plugins": [{"name": "LoggingPlugin", "args": {"name": "a"}}],
    "events_compaction_config": {"token_threshold": 1, "event_retention_size": 1, "summarizer": "code.f"},
    "session_service": "memory:",
}
GRAPH: dict[str, Any] = {
    "agent_class": "Workflow",
    "name": "flow",
    "nodes": {
        "a": "code.f",
        "b": "child.yaml",
        "j": {"agent_class": "JoinNode"},
        "i": {"instruction": "i", "timeout": 3},
    },
    "edges": [
        ["START", "a", ["b", "google_search"], "j"],
        ["j", {"x": "i", "DEFAULT": {"function": "code.g", "retry_config": {"max_attempts": 2}}}],
        {"from": "i", "to": ["google_search"], "route": ["p", 1]},
    ],
}
CODE = "def f(a: int = 1): ...\ndef g(n):\n    def made(callback_context, llm_request): ...\n    return made\n"
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(
        [
            "${",
            "${X}",
            "$${",
            "child.yaml",
            "../x.yaml",
            "/x.yaml",
            "a\0.yaml",
            "code.f",
            "code.",
            ".",
            "AgentTool",
            "os.system",
            "LoopAgent",
            "Workflow",
            "LangGraphAgent",
            "{",
            "name",
            "args",
            "config_path",
            "START",
            "x" * 5000,
        ]
    )
)
JUNK = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_LEAVES.map(str), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


def changed(data: Any, path: tuple[Any, ...], junk: Any, key: str | None) -> Any:
    """`data` with `junk` at a place, or under a further key there."""
    if not path:
        return {**data, key: junk} if isinstance(data, dict) and key is not None else junk
    copied = copy.copy(data)
    copied[path[0]] = changed(data[path[0]], path[1:], junk, key)
    return copied


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "desk"
    folder.mkdir()
    (folder / "child.yaml").write_text("name: child\n")
    (folder / "code.py").write_text(CODE)
    return folder


@cache
def _adk() -> Composition:
    return compose("adk")


def read_or_refuse(folder: Path, text: str) -> None:
    file = folder / "a.yaml"
    file.write_text(text, encoding="utf-8")
    try:
        load_file(file, _adk())
    except AgentConfigError as error:
        message = str(error)
        assert re.match(r".*/(a|child)\.yaml:\d+: .", message)
        assert "\n" not in message


@pytest.mark.parametrize("whole", [AGENT, APP, GRAPH], ids=["agent", "app", "graph"])
@settings(max_examples=50, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_value_of_any_kind_anywhere(desk: Path, whole: dict[str, Any], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(places(whole))))
    key = data.draw(st.none() | st.sampled_from(["nodes", "edges", "graph", "planner", "mode", "agent", "zzz"]))
    wrong = changed(whole, path, data.draw(JUNK), key)
    read_or_refuse(desk, json.dumps(wrong, ensure_ascii=False))


@settings(max_examples=50, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(alphabet="ab:-[]{},#&*!|>%@'\"\n \t?~${}<=\0\x85\ufeff", max_size=60))
def test_a_text_of_any_kind(desk: Path, text: str) -> None:
    read_or_refuse(desk, f"name: x\ninstruction: {text}\n")
    read_or_refuse(desk, text)
