"""Workflow: an agent whose steps are the nodes of a graph."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeAlias, Unpack

from pydantic import AfterValidator, Field

from newel.agents.base_agent import BaseAgent
from newel.agents.driver import Driver
from newel.contexts.generics import DepsIn
from newel.runs.closing import toolsets_of
from newel.workflow._base_node import BaseNode, NodeFields
from newel.workflow._errors import NodeInterruptedError, StateSchemaError
from newel.workflow._function_node import FunctionNode
from newel.workflow._graph import Graph
from newel.workflow._parallel_worker import ParallelWorker
from newel.workflow.agent_node import AgentNode
from newel.workflow.context import Run
from newel.workflow.edges import Edge, EdgeItem
from newel.workflow.factory import NodeLike
from newel.workflow.graph_run import GraphRun
from newel.workflow.node_run import NodeRun
from newel.workflow.root_run import run_root
from newel.workflow.state_schema import declared
from newel_kernel import AgentDriver, BaseToolset, Event, InvocationContext, Operation


class WorkflowDriver(Driver):
    """The driver of a workflow."""

    __slots__ = ()

    notes_end = False

    def enter(self, parent_context: InvocationContext, within: Operation | None = None) -> AsyncGenerator[Event, None]:
        """Without callbacks of its own the graph is not an operation of an agent: plugins observe the agents in it."""
        workflow: Workflow = self.agent
        if workflow.before_agent_callback is None and workflow.after_agent_callback is None:
            ctx = parent_context.for_agent(workflow)
            if not ctx.end_invocation:
                return workflow._run_async_impl(ctx)
        return super().enter(parent_context, within)

    def toolsets(self) -> list[BaseToolset]:
        """The toolsets of its agents, which the runner closes."""
        workflow: Workflow = self.agent
        toolsets: list[BaseToolset] = []
        for node in workflow.graph.nodes if workflow.graph is not None else ():
            agents = [node.agent] if isinstance(node, AgentNode) else [node] if isinstance(node, Workflow) else []
            while agents:
                agent = agents.pop()
                toolsets += toolsets_of(agent)
                agents += agent.sub_agents
        return toolsets


def _edge_items(items: list[object]) -> list[object]:
    for index, item in enumerate(items):
        if not isinstance(item, (Edge, tuple, list)):
            raise ValueError(
                f"edges[{index}] is {item!r} ({type(item).__name__}); an entry is an Edge or a chain of nodes, "
                f"as in ('START', first, second)"
            )
    return items


if TYPE_CHECKING:
    from collections.abc import Sequence

    from newel.agents.fields import AgentCallback
    from newel.workflow._retry_config import RetryConfig
    from newel_kernel import BaseAgent as KernelAgent

    Edges: TypeAlias = list[EdgeItem]
else:
    Edges = Annotated[list[object], AfterValidator(_edge_items)]


class Workflow(BaseAgent[DepsIn, str], BaseNode):
    """Runs the graph of `edges`: Edges, and chains such as ``("START", a, (b, c), join, {"again": a, "done": d})``.

    Nodes are functions, tools, agents, workflows and BaseNodes. What a node gives is the input of those that
    follow; the output of the last one is the workflow's. At most `max_concurrency` nodes run side by side.
    """

    __newel_is_graph__: ClassVar[bool] = True
    __newel_driver__: ClassVar[type[AgentDriver]] = WorkflowDriver

    #: A Python identifier; the events of its nodes bear it.
    name: str = "workflow"
    #: Whether it runs again once questions in it are answered.
    rerun_on_resume: bool = True
    #: Edges, and chains of nodes.
    edges: Edges = Field(default_factory=list)
    #: How many nodes run side by side; None: all that are due.
    max_concurrency: int | None = Field(default=None, ge=1)
    #: The compiled form of the edges, which it is made from if there is none.
    graph: Graph | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            name: str = "workflow",
            edges: Sequence[EdgeItem] = (),
            max_concurrency: int | None = None,
            graph: Graph | None = None,
            retry_config: RetryConfig | None = None,
            sub_agents: Sequence[KernelAgent] = (),
            before_agent_callback: AgentCallback[DepsIn] | None = None,
            after_agent_callback: AgentCallback[DepsIn] | None = None,
            **options: Unpack[NodeFields],
        ) -> None:
            """The graph of `edges`: chains of nodes such as ``("START", first, (left, right), join)``.

            Nodes are functions, tools, agents, workflows and BaseNodes; what one gives is the input of the next.
            """

    else:

        def __init__(self, **fields: object) -> None:
            super().__init__(**fields)
            _check_state_schema(self)

    def model_post_init(self, context: object, /) -> None:
        """Build the graph and check it."""
        super().model_post_init(context)
        if self.graph is None and self.edges:
            self.graph = Graph.from_edge_items(self.edges)
        if self.graph is not None:
            self.graph.validate_graph()

    def clone(self, update: Mapping[str, object] | None = None) -> Self:
        """A copy with a graph of its own; `update` sets fields."""
        changes = dict(update or {})
        return super().clone({"graph": None, **changes} if "edges" in changes else changes)

    @property
    def __newel_starts_nodes__(self) -> bool:
        """No: its nodes do."""
        return False

    def __newel_recall__(self, event: Event, path: str) -> object:
        """The output that a committed `event` of a node of the graph stands for."""
        key = event.node_info.path[len(path) + 1 :].split("/")[0]
        step = self.graph.steps.get(key.rpartition("@")[0]) if self.graph is not None else None
        return event.output if step is None else step.node.__newel_recall__(event, f"{path}/{key}")

    def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        return run_root(self, ctx)

    async def __newel_events__(self, run: Run) -> AsyncGenerator[Event, None]:
        if self.graph is None:
            return
        assert isinstance(run, NodeRun)
        graph_run = GraphRun(run, self.graph, self.max_concurrency)
        async with aclosing(graph_run.events(self._validate_input_data(run.input))) as events:
            async for event in events:
                yield event
        for output in graph_run.outputs:
            run.give(output)
        if graph_run.open_questions:
            run.outcome.interrupts = graph_run.open_questions
            raise NodeInterruptedError()


def _check_state_schema(workflow: Workflow[Any]) -> None:
    """Refuse parameters that the state cannot have. After validation, which would change the error's type."""
    for node in workflow.graph.nodes if workflow.graph is not None else ():
        schema = node.state_schema or workflow.state_schema
        if schema is None or not isinstance(node, FunctionNode) or node.parameter_binding != "state":
            continue
        for name in node.binding.names:
            if name not in schema.model_fields:
                raise StateSchemaError(
                    f"parameter {name!r} of node {node.name!r} is not declared in the state schema "
                    f"{schema.__name__!r}, which declares {declared(schema)}"
                )


def parallel_worker(
    node_like: NodeLike, max_concurrency: int | None = None, **fields: Unpack[NodeFields]
) -> ParallelWorker:
    """A node that runs `node_like` on each item of a list."""
    return ParallelWorker(node_like, max_concurrency=max_concurrency, **fields)
