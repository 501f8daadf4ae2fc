"""Child runs: nodes that the code of another node runs."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from newel.workflow._errors import NodeInterruptedError
from newel.workflow.building import build_node
from newel.workflow.performing import perform
from newel.workflow.recalling import recall

if TYPE_CHECKING:
    from newel.workflow.node_run import NodeRun


def start_child(
    parent: NodeRun, node_like: Any, node_input: Any, *, run_id: str | None = None, **place: Any
) -> NodeRun:
    """A run of a node within `parent`, under way; one that the journal knows is not run again. See `child_run`."""
    node = build_node(node_like)
    if run_id is None:
        run_id = _count(parent, node.name)
    elif run_id.isdecimal():
        raise ValueError(
            f"the run id {run_id!r} of node {node.name!r} is a number, as those are that are counted: put a letter in"
        )
    child = child_run(parent, node, node_input, run_id=run_id, **place)
    if child.path in (parent.children or ()):
        return parent.children[child.path][0]  # type: ignore[index]
    begin_child(parent, child)
    return child


def child_run(
    parent: NodeRun, node_like: Any, node_input: Any, *, run_id: str, use_as_output: bool = False,
    use_sub_branch: bool = False, branch: str | None = None, scope: str | None = None,
) -> NodeRun:  # fmt: skip
    """A run of a node within `parent`, not begun. `branch` and `scope` replace the parent's."""
    node = build_node(node_like)
    child = parent.__class__(node, run_id, parent, parent.tree, parent.meeting, node_input, parent.branch)
    if use_as_output and child.path not in (parent.children or ()):
        if parent.delegated:
            raise ValueError(f"node {parent.path} has given its output to another node already (use_as_output)")
        parent.delegated = True
        child.ends(parent)
    if branch is not None:
        child.branch = branch
    elif use_sub_branch:
        child.branch = f"{parent.branch}.{child.key}" if parent.branch else child.key
    if scope is not None:
        child.scope = scope
    return child


def _count(parent: NodeRun, name: str) -> str:
    counts = parent.counts = {} if parent.counts is None else parent.counts
    counts[name] = counts.get(name, 0) + 1
    return str(counts[name])


def begin_child(parent: NodeRun, child: NodeRun) -> None:
    """Start `child` in a task, unless the journal has its outcome."""
    children = parent.children = {} if parent.children is None else parent.children
    known = recall(child)
    children[child.path] = (child, None if known else parent.meeting.spawn(_drive(child)))
    if known:
        child.settle()


async def _drive(child: NodeRun) -> None:
    async with aclosing(perform(child)) as events:
        async for event in events:
            await child.meeting.emit(event)
    child.settle()


async def child_output(parent: NodeRun, child: NodeRun) -> Any:
    """The output of a run that was started, or what it raised; NodeInterruptedError where it waits for an answer."""
    await ended(parent, child)
    if child.waits:
        raise NodeInterruptedError()
    return child.output


async def ended(parent: NodeRun, child: NodeRun) -> None:
    """Wait for the end of `child`; whoever is cancelled meanwhile cancels it."""
    task = child_task(parent, child)
    if task is None:
        return
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        raise


def child_task(parent: NodeRun, child: NodeRun) -> asyncio.Task[None] | None:
    """The task that drives `child`; None where the journal had its outcome."""
    assert parent.children is not None
    return parent.children[child.path][1]
