"""`node`: makes nodes, and decorates functions."""

from __future__ import annotations

from typing import Any

from newel.workflow.building import build_node
from newel.workflow.parallel_worker import ParallelWorker
from newel.workflow.retry_config import RetryConfig


def node(
    node_like: Any = None,
    *,
    name: str | None = None,
    rerun_on_resume: bool | None = None,
    retry_config: RetryConfig | None = None,
    timeout: float | None = None,
    parallel_worker: bool = False,
    max_concurrency: int | None = None,
    auth_config: Any = None,
) -> Any:
    """A node of a function, an agent, a tool or a node; without one, a decorator that makes it.

    With `parallel_worker` it is run on each item of a list, `max_concurrency` at once. `retry_config` and `timeout`
    are then the worker's, that is of all items together.
    """
    given = {"name": name, "rerun_on_resume": rerun_on_resume, "auth_config": auth_config}
    if node_like is None:
        return lambda function: node(
            function, retry_config=retry_config, timeout=timeout, parallel_worker=parallel_worker,
            max_concurrency=max_concurrency, **given,
        )  # fmt: skip
    if parallel_worker:
        inner = build_node(node_like, **given)
        return ParallelWorker(
            inner, max_concurrency=max_concurrency, retry_config=retry_config, timeout=timeout
        )
    return build_node(node_like, retry_config=retry_config, timeout=timeout, **given)


def parallel_worker(node_like: Any, max_concurrency: int | None = None, **fields: Any) -> ParallelWorker:
    """A node that runs `node_like` on each item of a list."""
    return ParallelWorker(node_like, max_concurrency=max_concurrency, **fields)
