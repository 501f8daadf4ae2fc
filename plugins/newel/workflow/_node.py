"""Node, a node to subclass, and `node`, which makes a node of a function, an agent or a tool."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from newel.workflow._base_node import START, BaseNode
from newel.workflow._parallel_worker import ParallelWorker
from newel.workflow._retry_config import RetryConfig
from newel.workflow.context import NodeContext, Run
from newel.workflow.factory import NodeLike, build_node
from newel_kernel import BaseAgent, BaseTool, Event, Json

if TYPE_CHECKING:
    from newel.workflow._function_node import FunctionNode
    from newel_types import AuthConfig

__all__ = ["START", "Node", "node"]

P = ParamSpec("P")
R = TypeVar("R")


class Node(BaseNode):
    """A node to subclass: implement `run_node_impl`. With `parallel_worker` it runs on each item of its input."""

    #: Whether it runs on each item of its input, side by side.
    parallel_worker: bool = False

    def run_node_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[object, None]:
        """What the node does; a subclass implements it as an async generator."""
        raise NotImplementedError(f"{type(self).__name__} does not implement run_node_impl")

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[object, None]:
        async with aclosing(self.run_node_impl(ctx=ctx, node_input=node_input)) as items:
            async for item in items:
                yield item

    async def __newel_events__(self, run: Run) -> AsyncGenerator[Event, None]:
        if not self.parallel_worker:
            events = super().__newel_events__(run)
        else:
            single = self.model_copy(update={"parallel_worker": False, "retry_config": None, "timeout": None})
            events = ParallelWorker(single).__newel_events__(run)
        async with aclosing(events):
            async for event in events:
                yield event


class NodeOptions(TypedDict, total=False):
    """What ``@node(...)`` takes for a node of any kind."""

    name: str | None
    rerun_on_resume: bool | None
    retry_config: RetryConfig | None
    timeout: float | None
    auth_config: AuthConfig | None


class NodeDecorator(Protocol):
    """What ``@node(...)`` gives."""

    def __call__(self, function: Callable[P, R], /) -> FunctionNode[P, R]:
        """The node of a function."""


@overload
def node(*, parallel_worker: Literal[False] = False, **options: Unpack[NodeOptions]) -> NodeDecorator: ...
@overload
def node(
    *, parallel_worker: Literal[True], max_concurrency: int | None = None, **options: Unpack[NodeOptions]
) -> Callable[[Callable[..., object]], ParallelWorker]: ...
@overload
def node(
    node_like: NodeLike,
    *,
    parallel_worker: Literal[True],
    max_concurrency: int | None = None,
    **options: Unpack[NodeOptions],
) -> ParallelWorker: ...
@overload
def node(
    node_like: BaseAgent | BaseTool | BaseNode,
    *,
    parallel_worker: Literal[False] = False,
    **options: Unpack[NodeOptions],
) -> BaseNode: ...
@overload
def node(
    node_like: Callable[P, R], *, parallel_worker: Literal[False] = False, **options: Unpack[NodeOptions]
) -> FunctionNode[P, R]: ...


def node(
    node_like: NodeLike | None = None,
    *,
    name: str | None = None,
    rerun_on_resume: bool | None = None,
    retry_config: RetryConfig | None = None,
    timeout: float | None = None,
    parallel_worker: bool = False,
    max_concurrency: int | None = None,
    auth_config: AuthConfig | None = None,
) -> Any:
    """A node of a function, an agent, a tool or a node; without one, a decorator that makes it.

    With `parallel_worker` it runs on each item of a list, `max_concurrency` at once. `retry_config` and `timeout` are
    then the worker's, for all items together; a worker does not run again because an item failed (see
    docs/reference/behaviour.md#graphs). To retry single items, give their node a `retry_config` of its own:
    ``node(node(f, retry_config=...), parallel_worker=True)``.
    """
    fields: Json = {"name": name, "rerun_on_resume": rerun_on_resume, "auth_config": auth_config}

    def decorate(entry: object) -> BaseNode:
        if not parallel_worker:
            return build_node(entry, retry_config=retry_config, timeout=timeout, **fields)
        inner = build_node(entry, **fields)
        return ParallelWorker(inner, max_concurrency=max_concurrency, retry_config=retry_config, timeout=timeout)

    return decorate if node_like is None else decorate(node_like)
