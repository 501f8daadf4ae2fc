"""The specification's examples, as printed but for the import root, and that a scripted model answers."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

import pytest

from newel import types
from newel.agents import LlmAgent
from newel.agents.context import Context
from newel.runners import InMemoryRunner
from newel.testing import ScriptedModel
from newel.workflow._function_node import FunctionNode
from newel.workflow._graph import DEFAULT_ROUTE, Edge, Graph
from newel.workflow._node import START
from newel.workflow._node_runner import NodeRunner
from newel.workflow._node_state import NodeState
from newel.workflow._node_status import NodeStatus
from newel.workflow._parallel_worker import _ParallelWorker
from newel.workflow._workflow import Workflow


def say(workflow: Workflow, text: str) -> list[Any]:
    async def turn() -> list[Any]:
        runner = InMemoryRunner(agent=workflow)
        session = await runner.session_service.create_session(app_name="demo", user_id="u1")
        message = types.Content(parts=[types.Part.from_text(text=text)])
        run = runner.run_async(user_id="u1", session_id=session.id, new_message=message)
        return [event async for event in run]

    return asyncio.run(turn())


async def classify(ctx: Context) -> None:
    text = ctx.node_input or ""  # type: ignore[attr-defined]
    if "urgent" in text.lower():
        ctx.emit_route("urgent")  # type: ignore[attr-defined]
    elif "billing" in text.lower():
        ctx.emit_route("billing")  # type: ignore[attr-defined]


async def handle_urgent(ctx: Context) -> None:
    ctx.output = "Escalating to on-call team…"  # type: ignore[attr-defined]


async def handle_billing(ctx: Context) -> None:
    ctx.output = "Routing to billing department…"  # type: ignore[attr-defined]


async def handle_default(ctx: Context) -> None:
    ctx.output = "Handled by general support."  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("URGENT: it burns", "Escalating to on-call team…"),
        ("about my billing", "Routing to billing department…"),
        ("hello", "Handled by general support."),
    ],
)
def test_the_triage_workflow(text: str, output: str) -> None:
    workflow = Workflow(
        name="triage_workflow",
        edges=[
            (
                START,
                FunctionNode(name="classify", fn=classify),
                {
                    "urgent": FunctionNode(name="handle_urgent", fn=handle_urgent),
                    "billing": FunctionNode(name="handle_billing", fn=handle_billing),
                    DEFAULT_ROUTE: FunctionNode(name="handle_default", fn=handle_default),
                },
            ),
        ],
    )
    assert say(workflow, text)[-1].output == output


def test_the_document_summariser() -> None:
    async def split_docs(ctx: Context) -> None:
        ctx.output = ctx.node_input.split(",")  # type: ignore[attr-defined]

    async def collect(ctx: Context) -> None:
        ctx.output = "\n".join(f"- {s}" for s in ctx.node_input)  # type: ignore[attr-defined]

    summariser = LlmAgent(name="summariser", model=ScriptedModel(["one", "two"]), instruction="Summarise.")
    worker = _ParallelWorker(node=summariser, max_concurrency=1)
    assert worker.name == "summariser"
    splitter, collector = FunctionNode(name="split_docs", fn=split_docs), FunctionNode(name="collect", fn=collect)
    pipeline = Workflow(name="doc_summariser", edges=[(START, splitter, worker, collector)])
    assert say(pipeline, "a,b")[-1].output == "- one\n- two"


def test_a_worker_cannot_run_start() -> None:
    with pytest.raises(ValueError, match="START"):
        _ParallelWorker(node="START")


def test_a_node_runner_gives_the_context_of_the_run() -> None:
    results = []

    async def child(ctx: Context) -> None:
        ctx.output = "done"  # type: ignore[attr-defined]

    async def parent(ctx: Any) -> None:
        for function in (child, handle_nothing):
            runner = NodeRunner(node=FunctionNode(name=function.__name__, fn=function), parent_ctx=ctx, run_id="3")
            done = await runner.run("input")
            results.append((done.output, done.node_path, repr(done.error)))

    say(Workflow(name="wf", edges=[(START, FunctionNode(fn=parent, rerun_on_resume=True))]), "go")
    assert results == [
        ("done", "wf@1/parent@1/child@3", "None"),
        (None, "wf@1/parent@1/handle_nothing@3", "LookupError('nothing')"),
    ]


async def handle_nothing(ctx: Context) -> None:
    raise LookupError("nothing")


def test_a_completed_node_is_told_in_one_field() -> None:
    assert NodeState(status=NodeStatus.COMPLETED).model_dump(mode="json") == {"status": 3}
    waiting = NodeState(status=NodeStatus.WAITING, interrupts=["i"], attempt_count=3, run_counter=2)
    assert NodeState.model_validate(waiting.model_dump(mode="json")) == waiting
    assert NodeState.model_validate({"status": 3, "unknown": 1}).status is NodeStatus.COMPLETED


def test_an_edge_item_of_another_kind() -> None:
    with pytest.raises(ValueError, match="Invalid edge type: <class 'int'>"):
        Graph.from_edge_items([42])
    assert Graph.from_edge_items([Edge(from_node=START, to_node=classify)]).terminal_names == {"classify"}


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("_base_node", ["BaseNode", "START"]),
        ("_errors", ["DynamicNodeFailError", "NodeInterruptedError", "NodeTimeoutError"]),
        ("_join_node", ["JoinNode"]),
        ("_node", ["Node", "node", "START"]),
        ("_retry_config", ["RetryConfig"]),
        ("_tool_node", ["ToolNode"]),
        ("_workflow", ["Workflow", "parallel_worker"]),
    ],
)
def test_the_specified_module_names(module: str, names: list[str]) -> None:
    loaded = importlib.import_module(f"newel.workflow.{module}")
    assert all(hasattr(loaded, name) for name in names)
