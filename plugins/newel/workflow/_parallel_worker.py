"""ParallelWorker: a node run side by side on each item of a list."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Unpack

from pydantic import Field

from newel.workflow._base_node import START, BaseNode, NodeFields
from newel.workflow._errors import NodeInterruptedError
from newel.workflow._retry_config import RetryConfig
from newel.workflow.context import ChildRun, Run
from newel.workflow.factory import NodeLike, build_node
from newel_kernel import Event, Json


class ParallelWorker(BaseNode):
    """Runs `node` on every item of its input, each on a branch of its own; the output is theirs, in the input's order.

    At most `max_concurrency` run at once. If one fails, the others are cancelled. An input that is not a list is
    taken as a list of one.
    """

    #: What runs on each item.
    node: BaseNode
    #: How many items at once; None: all.
    max_concurrency: int | None = Field(default=None, ge=1)

    def __init__(
        self,
        node: NodeLike,
        *,
        name: str | None = None,
        max_concurrency: int | None = None,
        retry_config: RetryConfig | None = None,
        **options: Unpack[NodeFields],
    ) -> None:
        inner = build_node(node)
        fields: Json = {"name": name or inner.name, **options}
        if inner is START:
            raise ValueError("a parallel worker cannot run START")
        fields.setdefault("description", inner.description)
        fields["rerun_on_resume"] = True
        fields |= {"node": inner, "max_concurrency": max_concurrency, "retry_config": retry_config}
        super().__init__(**fields)

    async def __newel_events__(self, run: Run) -> AsyncGenerator[Event, None]:
        items = run.input if isinstance(run.input, (list, tuple)) else [run.input]
        children: list[ChildRun] = []
        ends: asyncio.Queue[asyncio.Task[None]] = asyncio.Queue()
        running = 0
        for item in items:
            if running == self.max_concurrency:
                (await ends.get()).result()
                running -= 1
            child = run.start_child(self.node, item, use_sub_branch=True)
            children.append(child)
            if child.task is not None:
                child.task.add_done_callback(ends.put_nowait)
                running += 1
        for _ in range(running):
            (await ends.get()).result()
        if any(child.outcome.interrupts for child in children):
            raise NodeInterruptedError()
        event = run.take([child.outcome.output for child in children])
        if event is not None:
            yield event


#: As the specification names it.
_ParallelWorker = ParallelWorker
