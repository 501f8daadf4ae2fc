"""Agents from YAML files: what they may say, and what is said about what they may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.agents.agent_config import load_agent_from_config
from newel.agents.config_agent_utils import from_config
from newel_kernel import AgentConfigError

TOOLS = '''
    from pydantic import BaseModel

    class Report(BaseModel):
        """A report."""
        city: str

    def forecast(city: str) -> str:
        """The forecast."""
        return city

    def note(callback_context, llm_request):
        """A callback."""

    def limiter(most):
        """Makes a callback."""
        def limit(callback_context, llm_request):
            return most
        return limit
'''


def test_an_agent_with_every_field(folder: Any) -> None:
    folder.write("tools.py", TOOLS)
    agent = folder.load("""\
        agent_class: LlmAgent
        name: greeter
        model: gemini-2.5-flash
        description: Greets.
        instruction: Greet {who}.
        global_instruction: Be kind.
        static_instruction: Known.
        tools: [clock, tools.forecast]
        output_key: greeting
        include_contents: none
        disallow_transfer_to_parent: true
        disallow_transfer_to_peers: true
        generate_content_config:
          temperature: 0.2
          maxOutputTokens: 10
        input_schema: tools.Report
        output_schema: {name: weather.tools.Report}
        before_model_callback: tools.note
        after_model_callback:
          - name: tools.limiter
            args: {most: 3}
        """)
    assert isinstance(agent, LlmAgent)
    assert (agent.name, agent.model, agent.output_key) == ("greeter", "gemini-2.5-flash", "greeting")
    assert agent.instruction == "Greet {who}."
    assert [getattr(t, "name", None) or t.__name__ for t in agent.tools] == ["clock", "forecast"]
    assert agent.generate_content_config is not None
    assert agent.generate_content_config.max_output_tokens == 10
    assert agent.input_schema is agent.output_schema
    assert agent.before_model_callback.__name__ == "note"
    assert [callback.__name__ for callback in agent.after_model_callback] == ["limit"]


def test_the_default_class_and_both_names_of_the_loader(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder.write("root_agent.yaml", "name: plain\n")
    assert load_agent_from_config is from_config
    assert type(from_config(str(file), composition=folder.composition)) is LlmAgent


@pytest.mark.parametrize(
    "args", ["{zone: CET}", "[{name: zone, value: CET}]", "[{value: CET}]"], ids=["mapping", "named", "positional"]
)
def test_arguments_of_a_tool(folder: Any, args: str) -> None:
    agent = folder.load(f"name: x\ntools:\n  - name: clock\n    args: {args}\n")
    assert agent.tools[0].zone == "CET"


def test_callbacks_in_the_plural_and_made_with_arguments(folder: Any) -> None:
    folder.write("tools.py", TOOLS)
    agent = folder.load("""\
        name: x
        before_model_callbacks:
          - tools.note
          - name: tools.limiter
            args:
              - name: most
                value: 60
        """)
    assert [callback.__name__ for callback in agent.before_model_callback] == ["note", "limit"]
    assert agent.before_model_callback[1](callback_context=None, llm_request=None) == 60


def test_sub_agents_from_files_and_from_code(folder: Any) -> None:
    folder.write("team/child.yaml", "name: child\ntools: [weather.tools.forecast]\n")
    folder.write("tools.py", TOOLS)
    folder.write("people.py", "from newel.agents import LlmAgent\nexpert = LlmAgent(name='expert')\n")
    text = "name: root\nsub_agents:\n  - config_path: team/child.yaml\n  - code: people.expert\n"
    root = folder.load(text)
    assert [agent.name for agent in root.sub_agents] == ["child", "expert"]
    assert all(agent.parent_agent is root for agent in root.sub_agents)
    assert folder.load(text).sub_agents[1] is not root.sub_agents[1]  # a second reading, its own expert


def test_an_agent_class_of_the_app(folder: Any) -> None:
    folder.write("kinds.py", "from newel.agents import LlmAgent\nclass Mine(LlmAgent):\n    extra: int = 0\n")
    assert folder.load("agent_class: kinds.Mine\nname: x\nextra: 3\n").extra == 3
    assert folder.refused("agent_class: kinds.Mine\nname: x\nextra: many\n").startswith("root_agent.yaml:3: extra: ")


def test_environment_variables(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITY", "Paris: [a")
    monkeypatch.delenv("NOWHERE", raising=False)
    agent = folder.load("name: x\ninstruction: ${CITY} and $${CITY} and {state} and $5\n")
    assert agent.instruction == "Paris: [a and ${CITY} and {state} and $5"
    nested = "name: x\ntools:\n  - name: clock\n    args:\n      zone: ${NOWHERE}\n"
    assert folder.refused(nested).startswith("root_agent.yaml:5: the environment variable 'NOWHERE' is not set; ")
    assert "write ${NAME}" in folder.refused("name: x\ninstruction: ${not a name}\n")


WRONG = {
    "unknown key": ("name: x\nmodle: y\n", "2: unknown key 'modle' in LlmAgent; did you mean 'mode"),
    "key of another class": ("name: x\nmax_iterations: 3\n", "2: unknown key 'max_iterations' in LlmAgent; "),
    "parent": ("name: x\nparent_agent: y\n", "2: unknown key 'parent_agent'"),
    "no name": ("model: x\n", "1: name is missing; add a line `name: ...`"),
    "bad name": ("description: d\nname: 1x\n", "2: name: invalid agent name '1x'"),
    "unknown class": ("name: x\nagent_class: LmAgent\n", "2: no plugin provides the agent type 'LmAgent'; did you"),
    "class is no text": ("name: x\nagent_class: 3\n", "2: agent_class: expected a name, not int"),
    "unknown tool": ("name: x\ntools:\n  - clock\n  - clok\n", "4: no plugin provides the tool factory 'clok'; did"),
    "tools no list": ("name: x\ntools: clock\n", "2: tools: expected a list, not str"),
    "tool no name": ("name: x\ntools:\n  - nam: clock\n", "3: tools.0.name is missing; "),
    "bad tool args": (
        "name: x\ntools:\n  - name: clock\n    args: {zon: X}\n",
        "4: 'clock' cannot be made of these args: TypeError",
    ),
    "text wanted": ("name: x\ninstruction:\n  a: b\n", "2: instruction: expected a string, not dict"),
    "model wanted": ("name: x\nmodel: [a]\n", "2: model: expected a string, not list"),
    "choice": ("name: x\n\ninclude_contents: som\n", "3: include_contents: Input should be 'default' or 'none'"),
    "nested": (
        "name: x\ngenerate_content_config:\n  top_k: 3\n  temperature: hot\n",
        "4: generate_content_config.temperature: Input should be a valid number",
    ),
    "nested key": (
        "name: x\ngenerate_content_config:\n  tempature: 1\n",
        "3: unknown key 'tempature' in generate_content_config; did you mean 'temperature'?",
    ),
    "deep nested key": (
        "name: x\ngenerate_content_config:\n  thinking_config:\n    budgt: 1\n",
        "4: unknown key 'budgt' in generate_content_config.thinking_config",
    ),
    "not its own": (
        "name: x\ngenerate_content_config:\n  system_instruction: hi\n",
        "2: generate_content_config: generate_content_config.system_instruction must not be set: use LlmAgent.instruct",
    ),
    "several": ("name: 1x\nmode: foo\n", "1: name: invalid agent name '1x'"),
    "planner": ("name: x\nplanner: fast\n", "2: no plugin provides the planner 'fast'"),
    "plural beside singular": (
        "name: x\nbefore_model_callback: tools.note\nbefore_model_callbacks: tools.note\n",
        "3: 'before_model_callbacks' means the same as 'before_model_callback'; keep one of them",
    ),
    "ref both": (
        "name: x\nsub_agents:\n  - config_path: a.yaml\n    code: a.b\n",
        "3: sub_agents.0: Only one of `code` or `config_path` should be provided",
    ),
    "ref none": (
        "name: x\nsub_agents:\n  - {}\n",
        "3: sub_agents.0: Exactly one of `code` or `config_path` must be provided",
    ),
    "ref text": ("name: x\nsub_agents: [a]\n", "2: an agent is written `config_path: file.yaml` or"),
    "ref absolute": ("name: x\nsub_agents:\n  - config_path: /etc/passwd.yaml\n", "3: config_path '/etc/passwd.yaml'"),
    "ref above": ("name: x\nsub_agents:\n  - config_path: ../a.yaml\n", "3: config_path '../a.yaml' leaves the app's"),
    "ref missing": ("name: x\nsub_agents:\n  - config_path: no.yaml\n", "3: config_path 'no.yaml': there is no such"),
    "ref no yaml": ("name: x\nsub_agents:\n  - config_path: tools.py\n", "3: config_path 'tools.py': there is no such"),
    "itself": (
        "name: x\nsub_agents:\n  - config_path: root_agent.yaml\n",
        "3: agent files refer to each other in a cycle (root_agent.yaml -> root_agent.yaml)",
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_file_and_line(folder: Any, text: str, message: str) -> None:
    folder.write("tools.py", TOOLS)
    assert folder.refused(text).startswith(f"root_agent.yaml:{message}")


def test_every_problem_of_a_file_is_reported(folder: Any) -> None:
    message = folder.refused("name: 1x\ndescription: d\nmode: foo\n")
    assert "; line 3: mode: Input should be 'chat'" in message


def test_callbacks_with_wrong_parameters(folder: Any) -> None:
    folder.write("tools.py", TOOLS)
    message = folder.refused("name: x\nbefore_tool_callback:\n  - tools.note\n")
    assert message.startswith("root_agent.yaml:3: the agent: before_tool_callback note(callback_context, llm_request)")
    assert "it must take (tool, args, tool_context)" in message


def test_circles_of_files(folder: Any) -> None:
    folder.write("a.yaml", "name: a\nsub_agents: [{config_path: b.yaml}]\n")
    folder.write("b.yaml", "name: b\nsub_agents: [{config_path: a.yaml}]\n")
    message = folder.refused("name: root\nsub_agents: [{config_path: a.yaml}]\n")
    assert message.startswith("b.yaml:2: agent files refer to each other in a cycle (a.yaml -> b.yaml -> a.yaml)")


def test_files_nested_too_deep(folder: Any) -> None:
    for index in range(40):
        folder.write(f"a{index}.yaml", f"name: a{index}\nsub_agents: [{{config_path: a{index + 1}.yaml}}]\n")
    assert "deeper than 32 levels" in folder.refused("name: root\nsub_agents: [{config_path: a0.yaml}]\n")


def test_links_do_not_lead_out_of_the_folder(folder: Any, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("name: secret\n")
    (folder.path / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    (folder.path / "up").symlink_to(tmp_path)
    for path in ("link.yaml", "up/secret.yaml"):
        message = folder.refused(f"name: x\nsub_agents: [{{config_path: {path}}}]\n")
        assert message.startswith(f"root_agent.yaml:2: config_path {path!r} is a link out of the app's folder")


@pytest.mark.parametrize("second", ["{config_path: child.yaml}", "{code: people.expert}"], ids=["file", "code"])
def test_two_agents_of_one_name(folder: Any, second: str) -> None:
    folder.write("child.yaml", "description: d\nname: child\n")
    folder.write("people.py", "from newel.agents import LlmAgent\nexpert = LlmAgent(name='child')\n")
    text = f"name: root\nsub_agents:\n  - config_path: child.yaml\n  - {second}\n"
    message = folder.refused(text)
    assert message.startswith(("child.yaml:2: ", "root_agent.yaml:4: "))
    assert "two agents of the app are named 'child' (the other one: child.yaml:2); rename one" in message


def test_a_file_that_cannot_be_read(folder: Any) -> None:
    with pytest.raises(AgentConfigError, match=r"ends in \.yaml"):
        from_config(folder.path / "agent.txt", composition=folder.composition)
    with pytest.raises(AgentConfigError, match=r"none\.yaml:1: the file cannot be read: No such file"):
        from_config(folder.path / "none.yaml", composition=folder.composition)


def test_a_missing_file_is_a_file_not_found_error(folder: Any) -> None:
    with pytest.raises(FileNotFoundError, match="cannot be read"):
        from_config(folder.path / "none.yaml", composition=folder.composition)
    text = "name: a\nmodel: gemini-2.5-flash\nsub_agents:\n  - config_path: none.yaml\n"
    with pytest.raises(FileNotFoundError, match=r"root_agent\.yaml:4: .*create it") as caught:
        folder.load(text)
    assert isinstance(caught.value, AgentConfigError)
