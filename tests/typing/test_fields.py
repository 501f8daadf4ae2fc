"""What people write is described where they look: signatures, help, and the reference have every field."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from newel import Agent, App, Workflow
from newel.agents import LlmAgent, LoopAgent, ParallelAgent, RunConfig, SequentialAgent
from newel.apps import EventsCompactionConfig, ResumabilityConfig
from newel.cli.plugin_settings import comments_of
from newel.workflow import Edge, FunctionNode, JoinNode, Node, RetryConfig, ToolNode
from newel.workflow._base_node import NodeFields

ROOT = Path(__file__).resolve().parents[2]
RECORDS: list[type[BaseModel]] = [
    *(Agent, App, Workflow, RunConfig, RetryConfig, SequentialAgent, ParallelAgent, LoopAgent),
    *(EventsCompactionConfig, ResumabilityConfig, FunctionNode, ToolNode, JoinNode, Node, Edge),
]
#: Those that take their fields and nothing else.
SIGNED = [Agent, App, Workflow, RunConfig, RetryConfig, SequentialAgent, ParallelAgent, LoopAgent, JoinNode, Node]


def public(kind: type[BaseModel]) -> dict[str, Any]:
    return {name: field for name, field in kind.model_fields.items() if field.init is not False}


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_every_field_has_a_sentence_in_the_reference(kind: type[BaseModel]) -> None:
    heading = "Agent" if kind is LlmAgent else kind.__name__
    page = (ROOT / "docs" / "reference" / "fields.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = {row.split("`")[1]: row.rsplit("|", 2)[1].strip() for row in section.splitlines() if row.startswith("| `")}
    assert rows.keys() == public(kind).keys()
    assert [name for name, text in rows.items() if not text.endswith((".", ":"))] == []
    assert {name: comments_of(kind)[name] for name in rows}.keys() == rows.keys()


PRINT = """
import inspect, pydoc
from newel.workflow import JoinNode, Node, RetryConfig
from newel.agents import LoopAgent, ParallelAgent, RunConfig, SequentialAgent
from newel import Agent, App, Workflow
kind = {name}
print(inspect.signature(kind))
print(pydoc.render_doc(kind, renderer=pydoc.plaintext).splitlines()[3])
if kind is Agent:
    Agent(name="made")
    print(inspect.signature(kind))
"""


@pytest.mark.parametrize("kind", SIGNED, ids=lambda kind: kind.__name__)
def test_signatures_are_right_in_a_fresh_process(kind: type[BaseModel]) -> None:
    name = "Agent" if kind is LlmAgent else kind.__name__
    command = [sys.executable, "-c", PRINT.format(name=name)]
    first, helped, *after = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert re.findall(r"(?:\(\*, |, )(\w+): ", first) == [*public(kind)]
    assert "**" not in first
    assert first in helped
    assert set(after) <= {first}  # building the model changes nothing


def test_a_class_of_ones_own_has_the_signature_that_it_writes() -> None:
    class Mine(LlmAgent):
        def __init__(self, city: str) -> None:
            super().__init__(name=city)

    class Fields(LlmAgent):
        place: str = "Oslo"

    assert str(inspect.signature(Mine)) == "(city: 'str')"
    assert str(inspect.signature(Fields)).endswith(", place: str = 'Oslo')")


def test_type_checkers_see_the_fields_that_there_are() -> None:
    """The constructors that are written for type checkers only have the parameters of the fields, and a text.

    An editor shows the text; without one it shows pydantic's.
    """
    options = NodeFields.__annotations__.keys()
    for kind, more in ((LlmAgent, set()), (App, {"agent"}), (Workflow, set())):
        text = Path(inspect.getfile(kind)).read_text(encoding="utf-8")
        made = next(
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef) and node.name == "__init__" and node.args.kwonlyargs
        )
        named = {one.arg for one in made.args.kwonlyargs}
        assert named | (options if made.args.kwarg else set()) == public(kind).keys() | more
        assert ast.get_docstring(made)
