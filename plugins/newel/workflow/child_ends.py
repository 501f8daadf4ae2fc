"""The ends of the runs that a node's code started: none outlives the run that started it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from newel.workflow.node_run import NodeRun


async def end_children(run: NodeRun, *, cancel: bool) -> None:
    """Wait for the runs that the node's code did not wait for; `cancel` them, where it failed."""
    tasks = [task for _, task in (run.children or {}).values() if task is not None and not task.done()]
    for task in tasks if cancel else ():
        task.cancel()
    if tasks:
        await asyncio.gather(*tasks, return_exceptions=True)


def adopt(run: NodeRun) -> None:
    """Take over what they left: an output for the run, and open questions."""
    for child, _ in (run.children or {}).values():
        if child.interrupts and not run.produced:
            run.interrupts = list(dict.fromkeys([*run.interrupts, *child.interrupts]))
        if run.delegated and not run.produced and child.terminal and child.produced:
            run.output, run.produced = child.output, True
