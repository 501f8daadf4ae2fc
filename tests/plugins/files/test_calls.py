"""Names with arguments: calls, factories, and functions with some of their arguments bound."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from newel.agents.config_agent_utils import from_config
from newel.tools import AgentTool, FunctionTool
from newel.tools.tool_configs import ToolArgsConfig
from newel_compose import compose
from newel_kernel import AgentConfigError

TOOLS = '''
    from newel.models.scripted import ScriptedModel
    from newel.plugins import BasePlugin
    from newel.tools import BaseTool, BaseToolset, FunctionTool
    from newel.tools.tool_configs import ToolArgsConfig

    async def fetch_weather(city: str, api_key: str) -> str:
        """Fetches the weather.

        Args:
            city: The city.
        """
        return f"{city} with {api_key}"

    def scale(factor: int, number: int) -> int:
        """Scales a number."""
        return factor * number

    def make(name: str):
        """Makes a tool."""
        def made(x: int) -> int:
            return x
        made.__name__ = name
        return FunctionTool(made)

    def make_of(args: ToolArgsConfig) -> BaseTool:
        return make(args.title)

    class Configured(BaseTool):
        @classmethod
        def from_config(cls, config, config_abs_path):
            tool = cls(name=config.title)
            tool.path = config_abs_path
            return tool

    class Numbers(BaseToolset):
        def __init__(self, most, tool_name_prefix=None):
            super().__init__(tool_name_prefix=tool_name_prefix)
            self.most = most

        async def get_tools(self, readonly_context=None):
            return [FunctionTool(scale)]

    numbers = Numbers(3)

    class Counter:
        """Counts."""
        def __call__(self, start: int, step: int) -> int:
            return start + step

    counter = Counter()

    def note(callback_context, llm_request):
        """A callback."""

    def limit(callback_context, llm_request, max_calls):
        return max_calls

    def limiter(max_calls):
        def made(callback_context, llm_request):
            return max_calls
        return made

    def fails(key):
        raise ValueError(f"the key {key} is wrong")

    def model(size):
        return ScriptedModel([{"text": size}])
'''


@pytest.fixture
def app(folder: Any) -> Any:
    folder.write("tools.py", TOOLS)
    return folder


@pytest.mark.parametrize("args", ["{api_key: k-1}", "[{name: api_key, value: k-1}]"])
def test_a_function_that_wants_more_has_its_arguments_bound(app: Any, args: str) -> None:
    agent = app.load(f"name: x\ntools:\n  - name: tools.fetch_weather\n    args: {args}\n")
    tool = FunctionTool(agent.tools[0])
    declared = tool._get_declaration()
    assert declared.name == "fetch_weather"
    assert declared.description.startswith("Fetches the weather.")
    assert list(declared.parameters_json_schema["properties"]) == ["city"]
    assert "k-1" not in str(declared)
    assert inspect.iscoroutinefunction(agent.tools[0])
    assert asyncio.run(agent.tools[0](city="Rome")) == "Rome with k-1"


def test_a_positional_argument_is_bound(app: Any) -> None:
    agent = app.load("name: x\ntools:\n  - name: tools.scale\n    args: [{value: 3}]\n")
    assert agent.tools[0](number=4) == 12
    assert list(inspect.signature(agent.tools[0]).parameters) == ["number"]


def test_an_object_is_bound_under_its_name(app: Any) -> None:
    agent = app.load("name: x\ntools:\n  - name: tools.counter\n    args: {step: 3}\n")
    assert FunctionTool(agent.tools[0]).name == "counter"
    assert agent.tools[0](start=1) == 4


@pytest.mark.parametrize("factory", ["make", "make_of"])
def test_a_factory_is_called(app: Any, factory: str) -> None:
    key = "name" if factory == "make" else "title"
    agent = app.load(f"name: x\ntools:\n  - name: tools.{factory}\n    args: {{{key}: mine}}\n")
    assert agent.tools[0].name == "mine"


def test_a_class_may_read_its_own_arguments(app: Any) -> None:
    agent = app.load("name: x\ntools:\n  - name: tools.Configured\n    args: {title: own}\n")
    assert agent.tools[0].name == "own"
    assert agent.tools[0].path == str(app.path / "root_agent.yaml")
    assert ToolArgsConfig(title="own").title == "own"  # type: ignore[attr-defined, call-arg]


def test_toolsets(app: Any) -> None:
    agent = app.load("""\
        name: x
        tools:
          - tools.numbers
          - name: tools.Numbers
            args: {most: 7, tool_name_prefix: n}
        """)
    assert [toolset.most for toolset in agent.tools] == [3, 7]
    assert [tool.name for tool in asyncio.run(agent.canonical_tools())] == ["scale", "n_scale"]


@pytest.mark.parametrize("name", ["limit", "limiter"])
def test_a_callback_is_made_or_bound(app: Any, name: str) -> None:
    agent = app.load(
        f"name: x\nbefore_model_callback:\n  name: tools.{name}\n  args:\n    - name: max_calls\n      value: 60\n"
    )
    assert agent.before_model_callback(callback_context=None, llm_request=None) == 60


def test_a_model_of_the_app(app: Any) -> None:
    for line in ("model: {name: tools.model, args: {size: hi}}", "model_code: {name: tools.model, args: {size: hi}}"):
        assert type(app.load(f"name: x\n{line}\n").model).__name__ == "ScriptedModel"
    assert app.refused("name: x\nmodel: {name: tools.numbers}\n").startswith("root_agent.yaml:2: model: Numbers is no")
    assert "'model_code' means the same as 'model'" in app.refused("name: x\nmodel: a\nmodel_code: tools.model\n")


WRONG = {
    "unknown": ("name: tools.scale, args: {facto: 1}", "'tools.scale' cannot be made of these args: TypeError: got an"),
    "too many": ("name: tools.scale, args: [{value: 1}, {value: 2}, {value: 3}]", "TypeError: too many positional"),
    "twice": ("name: tools.scale, args: [{name: a, value: 1}, {name: a, value: 2}]", "the argument 'a' is given twice"),
    "out of order": ("name: tools.scale, args: [{name: factor, value: 1}, {value: 2}]", "an argument without a name"),
    "no tool": ("name: tools.scale, args: {factor: 1, number: 2}", "int is not a tool"),
    "no class": ("name: tools.Numbers", "cannot be made of these args: TypeError"),
    "args no list": ("name: tools.scale, args: 3", "tools.0.args: Input should be a valid list"),
    "installed by its module": ("name: google.adk.tools.clock", "the installed 'clock' is written without a module"),
}


@pytest.mark.parametrize(("entry", "message"), WRONG.values(), ids=WRONG)
def test_wrong_arguments(app: Any, entry: str, message: str) -> None:
    refusal = app.refused(f"name: x\ntools:\n  - {{{entry}}}\n")
    assert refusal.startswith("root_agent.yaml:3: ")
    assert message in refusal


def test_a_bound_callback_must_fit_its_hook(app: Any) -> None:
    message = app.refused("name: x\nbefore_tool_callback: {name: tools.limit, args: {max_calls: 3}}\n")
    assert "before_tool_callback limit(callback_context, llm_request) cannot be called" in message


AGENT_TOOL = """\
name: x
tools:
  - name: AgentTool
    args: {args}
"""


@pytest.mark.parametrize(
    "args",
    [
        "{agent: child.yaml, skip_summarization: true}",
        "{agent: {config_path: child.yaml}, skip_summarization: true}",
        "{agent: {code: people.child}, skip_summarization: true}",
        "{agent: people.child, skip_summarization: true}",
        "[{name: agent, value: child.yaml}, {name: skip_summarization, value: true}]",
    ],
)
def test_an_agent_as_a_tool(folder: Any, args: str) -> None:
    folder.write("child.yaml", "name: child\ndescription: d\n")
    folder.write("people.py", "from newel.agents import LlmAgent\nchild = LlmAgent(name='child')\n")
    agent: Any = from_config(folder.write("root_agent.yaml", AGENT_TOOL.format(args=args)), composition=compose("adk"))
    tool = agent.tools[0]
    assert isinstance(tool, AgentTool)
    assert (tool.agent.name, tool.skip_summarization) == ("child", True)


def test_an_agent_may_be_the_tool_of_several(folder: Any) -> None:
    folder.write("shared.yaml", "name: shared\n")
    folder.write("child.yaml", AGENT_TOOL.format(args="{agent: shared.yaml}").replace("name: x", "name: child"))
    text = AGENT_TOOL.format(args="{agent: shared.yaml}") + "sub_agents: [child.yaml]\n"
    agent: Any = from_config(folder.write("root_agent.yaml", text), composition=compose("adk"))
    assert agent.tools[0].agent.name == agent.sub_agents[0].tools[0].agent.name == "shared"
    circle = folder.write("shared.yaml", AGENT_TOOL.format(args="{agent: child.yaml}"))
    with pytest.raises(AgentConfigError, match=r"in a cycle \(shared\.yaml -> child\.yaml -> shared\.yaml\)"):
        from_config(circle.with_name("root_agent.yaml"), composition=compose("adk"))


def test_a_wrong_file_behind_a_tool_stops_before_any_code(
    folder: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, tripwire: Callable[[], bool]
) -> None:
    folder.write("child.yaml", "name: child\nmodle: y\n")
    folder.write("mine.py", "import tripwire\ndef f(): ...\n")
    text = "name: x\ntools:\n  - mine.f\n  - {name: AgentTool, args: {agent: child.yaml}}\n"
    with pytest.raises(AgentConfigError, match=r"child\.yaml:2: unknown key 'modle'"):
        from_config(folder.write("root_agent.yaml", text), composition=compose("adk"))
    assert not tripwire()
