"""Root runs: a graph, or a plain node, as the agent of an invocation."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from newel.agents import base_agent
from newel.workflow._base_node import BaseNode
from newel.workflow._errors import DynamicNodeFailError
from newel.workflow.meeting import Meeting, committed
from newel.workflow.node_run import NodeRun
from newel.workflow.tree import Tree
from newel_kernel import BaseAgent, Event, InvocationContext, Key

Events = AsyncGenerator[Event, None]
#: Root node -> how often it was run in the invocation.
_RUNS = Key[dict[str, int]]("runs of root nodes", dict)


async def run_root(node: BaseNode, ctx: InvocationContext) -> Events:
    """The events of `node`, run on the invocation's message; an error of a node is raised here."""
    tree = Tree(ctx)
    counts = ctx.stash[_RUNS]
    if node.name in counts:
        counts[node.name] += 1  # a loop may run it several times
    else:
        counts[node.name] = 1 if tree.journal is None else tree.journal.root_run(node.name, _checkpointed(ctx))
    message = ctx.user_content
    if tree.journal is not None and tree.journal.message is not None:
        message = tree.journal.message
    run = NodeRun(node, str(counts[node.name]), tree, Meeting(), message, ctx.branch)
    if run.recall():
        return
    try:
        async with aclosing(_in_task(run) if node.__newel_starts_nodes__ else run.events()) as events:
            async for event in events:
                if tree.checkpoint.ended:
                    tree.checkpoint.pin(event)
                yield event
    except DynamicNodeFailError as failure:
        raise failure.error from failure.error.__cause__
    if tree.checkpoint.silent and (run.outcome.interrupts or tree.resumable):
        yield tree.checkpoint_event(run.place)


def _checkpointed(ctx: InvocationContext) -> int:
    """The index of the latest checkpoint of the agents around the one that runs, or -1."""
    around: set[str] = set()
    parent = ctx.agent.parent_agent
    while parent is not None:
        around.add(parent.name)
        parent = parent.parent_agent
    for index in range(len(ctx.session.events) - 1, -1, -1) if around else ():
        event = ctx.session.events[index]
        if event.invocation_id == ctx.invocation_id and event.author in around:
            actions = event.touched_actions
            if actions is not None and actions.agent_state is not None:
                return index
    return -1


async def _in_task(run: NodeRun) -> Events:
    """The events of a run whose code may run other nodes."""
    meeting = run.meeting
    task = meeting.start(meeting.produce(run.events()))
    try:
        while True:
            arrival = await meeting.next()
            if isinstance(arrival, tuple):
                yield arrival[0]
                committed(arrival[1])
            elif arrival is task:
                task.result()
                return
    finally:
        await meeting.close()


class NodeAgent(base_agent.BaseAgent):
    """A plain node as the root of a runner."""

    node: BaseNode

    def _run_async_impl(self, ctx: InvocationContext) -> Events:
        return run_root(self.node, ctx)


def as_agent(node: object) -> object:
    """`node`, if it is an agent, or else an agent that runs it."""
    if isinstance(node, BaseNode) and not isinstance(node, BaseAgent):
        return NodeAgent(name=node.name, description=node.description, node=node)
    return node
