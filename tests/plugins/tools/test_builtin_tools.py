"""The tools by name: in agent files and in the public package."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from newel import tools
from newel.agents.config_agent_utils import from_config
from newel.planners import BuiltInPlanner
from newel_compose import compose
from newel_kernel import AgentConfigError

NAMES = [
    "code_execution",
    "enterprise_web_search",
    "exit_loop",
    "get_user_choice",
    "google_maps_grounding",
    "google_search",
    "load_artifacts",
    "load_memory",
    "preload_memory",
    "url_context",
]


@pytest.fixture
def load(tmp_path: Path) -> Any:
    folder = tmp_path / "tearoom"
    folder.mkdir()

    def load_file(text: str, **files: str) -> Any:
        for name, content in {"root.yaml": text, **{n.replace("_dot_", "."): c for n, c in files.items()}}.items():
            (folder / name).write_text(dedent(content), encoding="utf-8")
        return from_config(folder / "root.yaml", composition=compose("adk"))

    return load_file


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_file_and_the_package_mean_the_same_object(load: Any, name: str) -> None:
    agent = load(f"name: root\ntools: [{name}]\n")
    assert agent.tools == [getattr(tools, name)]


def test_every_public_name_is_there() -> None:
    assert [name for name in dir(tools) if getattr(tools, name, None) is None] == []


INNER = "name: inner\ndescription: Knows.\n"


@pytest.mark.parametrize(
    "args",
    [
        "[{name: agent, value: inner.yaml}, {name: skip_summarization, value: true}]",
        "{agent: {config_path: inner.yaml}, skip_summarization: true}",
        "{agent: inner.yaml, skip_summarization: true}",
    ],
)
def test_an_agent_tool_names_its_agents_file(load: Any, args: str) -> None:
    agent = load(f"name: root\ntools:\n  - name: AgentTool\n    args: {args}\n", inner_dot_yaml=INNER)
    (tool,) = agent.tools
    assert (tool.name, tool.description, tool.skip_summarization) == ("inner", "Knows.", True)
    assert tool.agent.parent_agent is None


def test_functions_of_the_app_are_named(load: Any) -> None:
    text = """
        name: root
        tools:
          - name: LongRunningFunctionTool
            args: {func: jobs.submit}
          - name: ExampleTool
            args:
              examples:
                - {input: hello, output: welcome}
          - name: VertexAiSearchTool
            args: {data_store_id: stores/teas}
    """
    long, examples, search = load(text, jobs_dot_py="def submit(job: str) -> str:\n    return job\n").tools
    assert (long.name, long.is_long_running) == ("submit", True)
    assert examples.examples[0].output[0].parts[0].text == "welcome"
    assert search.data_store_id == "stores/teas"


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ("{func: os.system}", "is not allowed here"),
        ("{}", "cannot be made of these args"),
        ("{funk: jobs.submit}", "cannot be made of these args"),
    ],
)
def test_what_a_tool_cannot_be_made_of_is_told_with_the_line(load: Any, args: str, why: str) -> None:
    with pytest.raises(AgentConfigError, match=rf"root\.yaml:\d: .*{why}"):
        load(f"name: root\ntools:\n  - name: LongRunningFunctionTool\n    args: {args}\n")


def test_an_agent_tools_file_that_is_missing_is_told(load: Any) -> None:
    with pytest.raises(AgentConfigError, match=r"root\.yaml:4: .*there is no such YAML file"):
        load("name: root\ntools:\n  - name: AgentTool\n    args: {agent: nope.yaml}\n")


def test_planners_are_named(load: Any) -> None:
    args = "{thinking_config: {thinking_budget: 7}}"
    planner = load(f"name: root\nplanner:\n  name: BuiltInPlanner\n  args: {args}\n").planner
    assert isinstance(planner, BuiltInPlanner)
    assert planner.thinking_config.thinking_budget == 7
    assert type(load("name: root\nplanner: PlanReActPlanner\n").planner).__name__ == "PlanReActPlanner"
