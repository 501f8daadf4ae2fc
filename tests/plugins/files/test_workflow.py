"""Graphs from YAML files, run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from newel.agents.config_agent_utils import from_config
from newel.files import agent_schema, read_document
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_compose import compose
from newel_kernel import AgentConfigError

workflow: Any = pytest.importorskip("newel.workflow", reason="the package that runs graphs")

STEPS = """
    from newel.events import Event

    def classify(node_input):
        text = str(getattr(node_input, "parts", None) and node_input.parts[0].text or node_input)
        yield Event(output=text, route="urgent" if "fire" in text else "later")

    def call(node_input):
        return f"called about {node_input}"

    def note(node_input):
        return f"noted {node_input}"

    def left(node_input):
        return "left"

    def right(node_input):
        return "right"

    def both(node_input):
        return ",".join(node_input[key] for key in sorted(node_input))
"""
FLOW = """
    agent_class: Workflow
    name: desk
    nodes:
      classify: steps.classify
      call: {function: steps.call, timeout: 5, retry_config: {max_attempts: 2}}
      note: steps.note
    edges:
      - [START, classify, {urgent: call, DEFAULT: note}]
"""
FAN = """
    agent_class: Workflow
    name: fan
    nodes:
      join: {agent_class: JoinNode}
    edges:
      - [START, [steps.left, steps.right], join]
      - {from: join, to: steps.both}
"""


def run(folder: Path, text: str, message: str) -> list[Any]:
    (folder / "steps.py").write_text(dedent(STEPS), encoding="utf-8")
    file = folder / "root_agent.yaml"
    file.write_text(dedent(text), encoding="utf-8")
    composition = compose("adk")
    agent = from_config(file, composition=composition)
    runner = Runner(
        agent=agent,
        app_name="x",
        session_service=InMemorySessionService(),
        auto_create_session=True,
        composition=composition,
    )

    async def go() -> list[Any]:
        events = [e async for e in runner.run_async(user_id="u", session_id="s", new_message=message)]
        return [event.output for event in events if event.output is not None]

    return asyncio.run(go())


@pytest.mark.parametrize(("message", "last"), [("fire!", "called about fire!"), ("tea", "noted tea")])
def test_a_route_is_chosen(tmp_path: Path, message: str, last: str) -> None:
    assert run(tmp_path, FLOW, message)[-1] == last


def test_a_fan_out_is_joined(tmp_path: Path) -> None:
    assert run(tmp_path, FAN, "go")[-1] == "left,right"


def test_what_the_graph_refuses_has_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(AgentConfigError, match=r"root_agent\.yaml:\d+: "):
        run(tmp_path, FAN + "      - {from: join, to: steps.both}\n", "go")
    with pytest.raises(AgentConfigError, match=r"root_agent\.yaml:\d+: max_concurrency: Input should be greater"):
        run(tmp_path, FAN + "    max_concurrency: 0\n", "go")


@pytest.mark.parametrize("text", [FLOW, FAN])
def test_the_schema_takes_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "root_agent.yaml"
    file.write_text(dedent(text), encoding="utf-8")
    Draft202012Validator(agent_schema(compose("adk"))).validate(read_document(file).data)
