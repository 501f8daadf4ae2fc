"""The page of the reference about the fields of what people write most: agents, apps, graphs, and how they run."""

from __future__ import annotations

from collections.abc import Iterator

import objects

from newel import App, Workflow
from newel.agents import LlmAgent, LoopAgent, ParallelAgent, RunConfig, SequentialAgent
from newel.apps import EventsCompactionConfig, ResumabilityConfig
from newel.workflow import Edge, FunctionNode, JoinNode, Node, RetryConfig, ToolNode

#: Heading -> the class.
RECORDS: dict[str, type] = {
    "Agent": LlmAgent,
    "SequentialAgent": SequentialAgent,
    "ParallelAgent": ParallelAgent,
    "LoopAgent": LoopAgent,
    "App": App,
    "EventsCompactionConfig": EventsCompactionConfig,
    "ResumabilityConfig": ResumabilityConfig,
    "RunConfig": RunConfig,
    "Workflow": Workflow,
    "FunctionNode": FunctionNode,
    "ToolNode": ToolNode,
    "JoinNode": JoinNode,
    "Node": Node,
    "Edge": Edge,
    "RetryConfig": RetryConfig,
}


def page() -> str:
    """The page."""
    return "\n\n".join(_parts()) + "\n"


def _parts() -> Iterator[str]:
    yield "# Fields"
    yield (
        "What agents, apps, graphs and runs are made of. `inspect.signature(Agent)` and an editor show the same; a "
        "misspelt field is an error that names the nearest one."
    )
    for name, kind in RECORDS.items():
        yield f"## {name}"
        yield f"`from {_package(kind)} import {name}`"
        yield objects.docstring(kind)
        yield objects.fields_of(kind)


def _package(kind: type) -> str:
    room = ".".join(kind.__module__.split(".")[:2])
    return "newel" if kind in (App, Workflow, LlmAgent) else room.replace("newel.contexts", "newel.agents")
