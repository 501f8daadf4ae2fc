"""Everything is read before anything runs; classes of the app, and what their own fields may hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from newel.files import compilation

KINDS = """
    from collections.abc import Callable
    from typing import Any, ClassVar

    from pydantic import BaseModel

    from newel.agents import BaseAgent, LlmAgent
    from newel.agents.base_agent_config import BaseAgentConfig
    from newel.tools import BaseTool

    class Rule(BaseModel):
        limit: int

    class Router(BaseAgent):
        helper: BaseAgent | None = None
        team: list[BaseAgent] = []
        decide: Callable[..., str] | None = None
        lookup: BaseTool | None = None
        kind: type[BaseModel] | None = None
        rule: Rule | None = None
        weights: dict[str, float] = {}
        anything: Any = None

    class Filling(BaseAgent):
        size: int

        def __init__(self, **fields):
            super().__init__(size=3, **fields)

    class Splitting(BaseAgent):
        words: list[str]

        def __init__(self, name, words):
            super().__init__(name=name, words=words.split())

    class OldConfig(BaseAgentConfig):
        agent_class: str = "kinds.Old"
        factor: int

    class Old(BaseAgent):
        config_type: ClassVar[type[BaseAgentConfig]] = OldConfig
        doubled: int = 0

        @classmethod
        def _parse_config(cls, config, config_abs_path, kwargs):
            return {**kwargs, "doubled": config.factor * 2}
"""
WITNESS = "import tripwire\ntripwire.go()\n"


@pytest.fixture
def app(folder: Any) -> Any:
    folder.write("kinds.py", KINDS)
    folder.write("code.py", "def choose(): return 'a'\n")
    folder.write("child.yaml", "name: child\n")
    folder.write("other.yaml", "name: other\n")
    return folder


def test_an_agent_class_with_fields_of_its_own(app: Any) -> None:
    agent = app.load("""\
        agent_class: kinds.Router
        name: router
        helper: {config_path: child.yaml}
        team: [other.yaml]
        decide: code.choose
        lookup: clock
        kind: kinds.Rule
        rule: {limit: 3}
        weights: {a: 0.5}
        anything: [1, {b: 2}]
        """)
    assert (agent.helper.name, [one.name for one in agent.team], agent.decide()) == ("child", ["other"], "a")
    assert (agent.lookup.name, agent.kind.__name__, agent.rule.limit) == ("clock", "Rule", 3)
    assert (agent.weights, agent.anything) == ({"a": 0.5}, [1, {"b": 2}])


def test_an_agent_class_that_makes_its_fields_itself(app: Any) -> None:
    assert app.load("agent_class: kinds.Filling\nname: x\n").size == 3
    assert app.load("agent_class: kinds.Splitting\nname: x\nwords: a b\n").words == ["a", "b"]
    message = app.refused("agent_class: kinds.Filling\ndescription: [a]\nname: x\n")
    assert message.startswith("root_agent.yaml:2: description: Input should be a valid string")
    message = app.refused("agent_class: kinds.Splitting\nname: x\n")
    assert message.startswith("root_agent.yaml:1: ")
    assert "missing 1 required positional argument: 'words'" in message


def test_an_agent_class_with_a_config_type(app: Any) -> None:
    assert app.load("agent_class: kinds.Old\nname: old\nfactor: 21\n").doubled == 42
    assert app.refused("agent_class: kinds.Old\nname: old\nfactor: x\n").startswith("root_agent.yaml:3: factor: Input")
    assert "factor is missing" in app.refused("agent_class: kinds.Old\nname: old\n")


WRONG = {
    "unknown": ("helpr: child.yaml", "2: unknown key 'helpr' in Router; did you mean 'helper'?"),
    "no agent": ("helper: 3", "2: an agent is written `config_path: file.yaml` or `code: module.agent`"),
    "no list": ("team: child.yaml", "2: team: expected a list, not str"),
    "no tool": ("lookup: {name: code.choose, args: {}}", "2: str is not a tool"),
    "nested": ("rule: {limit: x}", "2: rule.limit: Input should be a valid integer"),
}


@pytest.mark.parametrize(("line", "message"), WRONG.values(), ids=WRONG)
def test_wrong_fields_of_its_own(app: Any, line: str, message: str) -> None:
    text = f"agent_class: kinds.Router\n{line}\nname: router\n"
    assert app.refused(text).startswith(f"root_agent.yaml:{message}")


def test_an_installed_class_is_not_named_by_its_module(app: Any) -> None:
    message = app.refused("agent_class: google.adk.agents.LoopAgent\nname: x\n")
    assert message.endswith("; the installed 'LoopAgent' is written without a module")


LATE_FAULTS = {
    "data": "name: x\ntools: [witness.f]\nmode: foo\n",
    "a callback": "name: x\ntools: [witness.f]\nbefore_agent_callback: 3\n",
    "generation": "name: x\ntools: [witness.f]\ngenerate_content_config: {top_k: x}\n",
    "not its own": "name: x\ntools: [witness.f]\ngenerate_content_config: {system_instruction: x}\n",
    "a name": "tools: [witness.f]\nname: 1x\n",
    "no name": "tools: [witness.f]\n",
    "another tool": "name: x\ntools: [witness.f, clok]\n",
    "a tool's args": "name: x\ntools: [witness.f, {name: clock, args: {zon: X}}]\n",
    "code outside": "name: x\ntools: [witness.f]\nafter_agent_callback: tripwire.go\n",
    "a variable": "name: x\ntools: [witness.f]\noutput_key: ${NOT_SET_ANYWHERE}\n",
    "a file": "name: x\ntools: [witness.f]\nsub_agents: [{config_path: wrong.yaml}]\n",
    "a file's name": "name: child\ntools: [witness.f]\nsub_agents: [{config_path: child.yaml}]\n",
    "beside a class": "agent_class: witness.Kind\nname: x\nsub_agents: [{config_path: wrong.yaml}]\n",
    "in a class's known fields": "agent_class: witness.Kind\nname: x\ntools: [clok]\n",
    "a class below": "name: x\ntools: [witness.f]\nsub_agents: [router.yaml]\n",
}


@pytest.mark.parametrize("text", LATE_FAULTS.values(), ids=LATE_FAULTS)
def test_a_fault_anywhere_keeps_everything_from_running(app: Any, text: str, tripwire: Callable[[], bool]) -> None:
    app.write("witness.py", WITNESS)
    app.write("wrong.yaml", "name: wrong\nmodle: y\n")
    app.write("router.yaml", "agent_class: kinds.Router\nname: router\nteam: 3\n")
    app.refused(text)
    assert not tripwire()


def test_too_many_files(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "MAX_FILES", 3)
    for index in range(4):
        app.write(f"a{index}.yaml", f"name: a{index}\n")
    message = app.refused("name: x\nsub_agents: [a0.yaml, a1.yaml, a2.yaml, a3.yaml]\n")
    assert message.startswith("a2.yaml:1: the app has more than 3 agent files")


def test_too_many_values_in_all_files(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilation, "MAX_VALUES", 9)
    message = app.refused("name: x\nsub_agents: [child.yaml, other.yaml]\noutput_key: a\n")
    assert message.startswith("other.yaml:1: the app's files hold more than 9 values")


def test_a_file_is_read_once_however_often_it_is_named(app: Any) -> None:
    message = app.refused("name: x\nsub_agents: [child.yaml, child.yaml]\n")
    assert message.startswith("child.yaml:1: two agents of the app are named 'child' (the other one: child.yaml:1)")


def test_other_spellings_of_references(app: Any) -> None:
    app.write("people.py", "from newel.agents import LlmAgent\nexpert = LlmAgent(name='expert')\n")
    agent = app.load("name: x\nsub_agents: [child.yaml, {code: .people.expert}]\ntools: [.code.choose]\n")
    assert [one.name for one in agent.sub_agents] == ["child", "expert"]
    assert agent.tools[0]() == "a"


def test_contents_schemas_and_graphs(app: Any) -> None:
    app.write("graphs.py", "class G:\n    def invoke(self, given, config): ...\ncompiled = G()\n")
    agent = app.load("name: x\nstatic_instruction: {parts: [{text: hi}]}\ninput_schema: {type: object}\n")
    assert agent.static_instruction.parts[0].text == "hi"
    assert agent.input_schema == {"type": "object"}
    assert type(app.load("agent_class: LangGraphAgent\nname: g\ngraph: graphs.compiled\n").graph).__name__ == "G"
    assert "graph is missing" in app.refused("agent_class: LangGraphAgent\nname: g\n")
    assert "has `role` and `parts`" in app.refused("name: x\nstatic_instruction: {text: hi}\n")


def test_what_a_class_raises_is_a_fault_of_its_file(app: Any) -> None:
    message = app.refused("agent_class: kinds.Splitting\nname: x\nwords: 3\n")
    reason = "AttributeError: 'int' object has no attribute 'split' (kinds.py:34 in __init__)"
    assert message == f"root_agent.yaml:1: {reason}"
