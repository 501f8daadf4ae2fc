"""Node: a node to subclass."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from newel.workflow.base_node import BaseNode
from newel.workflow.parallel_worker import ParallelWorker
from newel_kernel import Event

if TYPE_CHECKING:
    from newel.workflow.context import NodeContext
    from newel.workflow.node_run import NodeRun


class Node(BaseNode):
    """A node to subclass: implement `run_node_impl`. With `parallel_worker` it runs on each item of its input."""

    parallel_worker: bool = False

    def run_node_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        """What the node does; a subclass implements it as an async generator."""
        raise NotImplementedError(f"{type(self).__name__} does not implement run_node_impl")

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(self.run_node_impl(ctx=ctx, node_input=node_input)) as items:
            async for item in items:
                yield item

    async def _events(self, run: NodeRun) -> AsyncGenerator[Event, None]:
        if not self.parallel_worker:
            events = super()._events(run)
        else:
            single = self.model_copy(update={"parallel_worker": False, "retry_config": None, "timeout": None})
            events = ParallelWorker(single)._events(run)
        async with aclosing(events):
            async for event in events:
                yield event
