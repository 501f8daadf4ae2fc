"""Agents to draw. A toolset that is asked fails: a drawing asks none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from newel.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from newel.tools import AgentTool
from newel.tools.base_toolset import BaseToolset
from newel.workflow import DEFAULT_ROUTE, Edge, JoinNode, ParallelWorker, Workflow


def search(query: str) -> str:
    """Search."""
    raise AssertionError("a drawing runs nothing")


def step(name: str) -> Callable[[Any], Any]:
    def run(node_input: Any) -> Any:
        raise AssertionError("a drawing runs nothing")

    run.__name__ = name
    return run


class CrmToolset(BaseToolset):
    async def get_tools(self, readonly_context: Any = None) -> Any:
        raise AssertionError("a drawing asks no toolset")


def agent(name: str, **fields: Any) -> LlmAgent:
    return LlmAgent(name=name, model="gemini-2.5-flash", **fields)


@pytest.fixture
def team() -> LlmAgent:
    """An agent with a pipeline, one for a single turn, and another agent as a tool."""
    gather = ParallelAgent(
        name="gather",
        sub_agents=[agent("researcher", tools=[search, CrmToolset(tool_name_prefix="crm")]), agent("archive")],
    )
    refine = LoopAgent(name="refine", max_iterations=3, sub_agents=[agent("writer"), agent("critic")])
    publisher = agent("publisher", tools=[AgentTool(agent("proofreader"))])
    pipeline = SequentialAgent(name="pipeline", sub_agents=[gather, refine, publisher])
    return agent("coordinator", sub_agents=[pipeline, agent("billing", mode="single_turn")])


@pytest.fixture
def support() -> Workflow:
    """A workflow with routes, a nested one, a join, a worker and a way back."""
    classify, answer, escalate = step("classify"), step("answer"), step("escalate")
    refund = Workflow(name="handle_refund", edges=[("START", step("validate"), step("refund"))])
    together = JoinNode(name="together")
    routes = {"refund": refund, "other": answer, True: agent("expert", tools=[search]), DEFAULT_ROUTE: escalate}
    return Workflow(
        name="support",
        edges=[
            ("START", classify, routes),
            ((refund, answer), together),
            (together, ParallelWorker(step("summarize"), max_concurrency=4)),
            Edge(from_node=escalate, to_node=classify, route=["again", "retry"]),
        ],
    )


#: What names and descriptions could do to the formats that they are written in.
HOSTILE = (
    '"];evil -> x [label="',
    "</text></svg><script>alert(1)</script>",
    "a\nb\r\n\x00c\x1b[31m\x85",
    "&lt;b&gt; &amp; & #35; #quot;",
    "back\\slash \\N \\G \\",
    '`**bold**` $$x$$ %%{init: {}}%% --> |x| "]',
    "end",
    "x" * 100_000,
    "日本語 🚀 مرحبا",
    "\u202egnp.exe",
    "\ud800",
    'style x:#fff; click n1 "javascript:alert(1)"',
    "]]>",
    "",
)


@pytest.fixture
def hostile() -> LlmAgent:
    from newel.tools.base_tool import BaseTool

    tools = [BaseTool(name=name, description=name) for name in HOSTILE]
    return agent("Ünder_日本", description='"]<&\\', tools=tools)
