"""The JSON schema: it takes the files that the loader takes, and refuses what is plainly wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from newel.agents.kinds import AgentType
from newel.apps import App
from newel.cli.group import cli
from newel.files import agent_schema, app_schema, file_schema, read_document
from newel.files.fields import CALLBACKS
from newel.files.schema import APP_DESCRIPTIONS, DESCRIPTIONS
from newel_compose import Composition, compose
from newel_types import GenerateContentConfig

ROOT = Path(__file__).resolve().parents[3]
#: The agents and apps among them; the others are distributions.
EXAMPLES = [file for file in sorted((ROOT / "docs" / "examples").rglob("*.yaml")) if "extends:" not in file.read_text()]


@pytest.fixture(scope="module")
def adk() -> Composition:
    return compose("adk")


@pytest.fixture(scope="module")
def validator(adk: Composition) -> Draft202012Validator:
    return Draft202012Validator(file_schema(adk))


@pytest.mark.parametrize("make", [agent_schema, app_schema, file_schema])
def test_it_is_a_schema_of_its_draft(make: Any, adk: Composition) -> None:
    schema = make(adk)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"]
    assert schema["description"]


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.relative_to(ROOT / "docs").as_posix())
def test_the_examples_fit(validator: Draft202012Validator, file: Path) -> None:
    validator.validate(read_document(file).data)


RIGHT = {
    "every field": """
        name: x
        model: 'demo:'
        description: d
        instruction: i
        global_instruction: g
        static_instruction: {parts: [{text: s}]}
        tools:
          - google_search
          - tools.f
          - {name: tools.g, args: {a: 1}}
          - name: AgentTool
            args: [{name: agent, value: a.yaml}, {name: skip_summarization, value: true}]
        sub_agents: [a.yaml, {config_path: b.yml}, {code: people.expert}]
        generate_content_config: {temperature: 0.2, maxOutputTokens: 3, thinking_config: {thinkingBudget: 0}}
        output_schema: {name: tools.Report}
        input_schema: {type: object}
        planner: PlanReActPlanner
        code_executor: {name: unsafe_local, args: {allow_unsafe: true}}
        before_model_callback: tools.f
        after_model_callbacks: [tools.f, {name: tools.g, args: {a: 1}}]
        mode: task
        include_contents: none
        disallow_transfer_to_parent: true
        """,
    "loop": "agent_class: LoopAgent\nname: x\nmax_iterations: 3\n",
    "a class of the app": "agent_class: kinds.Mine\nname: x\nanything: 3\n",
    "variables": "name: x\nmode: ${MODE}\ngenerate_content_config: {temperature: '${T}'}\ntools: ['${TOOL}']\n",
    "a model of the app": "name: x\nmodel: {name: models.mine, args: {size: 1}}\n",
    "graph": "agent_class: LangGraphAgent\nname: x\ngraph: graphs.mine\n",
    "app": "name: desk\nroot_agent: a.yaml\nplugins: [LoggingPlugin, {name: mine.Own, args: {a: 1}}]\n",
    "app of the code": "name: desk\nagent: {code: people.expert}\nsession_service: 'sqlite:///x.db'\n",
    "settings of an app": """
        name: desk
        root_agent: {config_path: a.yaml}
        resumability_config: {is_resumable: true}
        context_cache_config: {ttl_seconds: 60}
        events_compaction_config:
          compaction_interval: 3
          overlap_size: 1
          summarizer: {name: LlmEventSummarizer, args: {llm: 'demo:'}}
        """,
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_what_a_file_may_say(
    validator: Draft202012Validator, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MODE", "T", "TOOL"):
        monkeypatch.setenv(name, f"${{{name}}}")
    file = tmp_path / "a.yaml"
    file.write_text(text)
    validator.validate(read_document(file).data)


WRONG = {
    "unknown key": "name: x\nmodle: y\n",
    "key of another class": "name: x\nmax_iterations: 3\n",
    "no name": "model: x\n",
    "unknown class": "agent_class: LmAgent\nname: x\n",
    "unknown tool": "name: x\ntools: [clok]\n",
    "tools no list": "name: x\ntools: google_search\n",
    "tool with a wrong key": "name: x\ntools: [{nam: google_search}]\n",
    "text wanted": "name: x\ninstruction: {a: b}\n",
    "choice": "name: x\ninclude_contents: som\n",
    "type": "name: x\ngenerate_content_config: {temperature: hot}\n",
    "nested key": "name: x\ngenerate_content_config: {tempature: 1}\n",
    "not its own": "name: x\ngenerate_content_config: {systemInstruction: hi}\n",
    "two references": "name: x\nsub_agents: [{config_path: a.yaml, code: a.b}]\n",
    "no yaml": "name: x\nsub_agents: [{config_path: a.txt}]\n",
    "planner": "name: x\nplanner: fast\n",
    "callback": "name: x\nbefore_agent_callback: 3\n",
    "two roots": "name: x\nroot_agent: a.yaml\nagent: b.yaml\n",
    "app without a name": "root_agent: a.yaml\n",
    "unknown key of an app": "name: x\nroot_agent: a.yaml\nplugin: []\n",
    "unknown plugin": "name: x\nroot_agent: a.yaml\nplugins: [LogPlugin]\n",
    "setting of an app": "name: x\nroot_agent: a.yaml\ncontext_cache_config: {ttl_seconds: 0}\n",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_a_file_may_not_say(validator: Draft202012Validator, text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    assert not validator.is_valid(read_document(file).data)


def test_both_kinds_of_files_share_their_definitions(adk: Composition) -> None:
    agent, app, both = (make(adk)["$defs"] for make in (agent_schema, app_schema, file_schema))
    assert agent.keys() | app.keys() == both.keys()
    assert {name: both[name] for name in agent} == agent
    assert {name: both[name] for name in app} == app
    assert {"base_url", "baseUrl"} <= app["HttpOptions"]["properties"].keys()


def test_every_field_is_described(adk: Composition) -> None:
    definitions = agent_schema(adk)["$defs"]
    for name, owned in adk.registry.owned(AgentType).items():
        properties = definitions[name]["properties"]
        fields = {field for field, info in owned.item.load().model_fields.items() if info.init is not False}
        assert fields <= properties.keys()
        missing = [key for key, shape in properties.items() if key != "agent_class" and not shape.get("description")]
        assert not missing, name
    assert set(CALLBACKS) <= DESCRIPTIONS.keys()
    assert App.model_fields.keys() - {"root_agent"} == APP_DESCRIPTIONS.keys()


def test_the_settings_of_model_calls_have_both_spellings(adk: Composition) -> None:
    known = agent_schema(adk)["$defs"]["generateContentConfig"]["properties"]
    elsewhere = {"tools", "system_instruction", "response_schema"}
    for name, info in GenerateContentConfig.model_fields.items():
        assert (name in known) == (name not in elsewhere)
        assert (info.alias in known) == (name not in elsewhere)


@pytest.mark.parametrize(("kind", "title"), [("any", "agent or app"), ("agent", "agent file"), ("app", "app file")])
def test_the_command_prints_it(kind: str, title: str) -> None:
    result = CliRunner().invoke(cli, ["schema", "--kind", kind, "--distribution", "adk"], catch_exceptions=False)
    schema = json.loads(result.stdout)
    assert title in schema["title"]
    Draft202012Validator.check_schema(schema)
