"""Performing: a node's run, attempt after attempt.

Every run goes through `perform`, but for functions that a graph calls itself where nobody observes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from newel.workflow._errors import DynamicNodeFailError, NodeInterruptedError
from newel.workflow.child_ends import adopt, end_children
from newel_kernel.errors import NodeTimeoutError
from newel_kernel.events import Event
from newel_kernel.observation import current

if TYPE_CHECKING:
    from newel.workflow.node_run import NodeRun

Events = AsyncGenerator[Event, None]


def perform(run: NodeRun, failure: Exception | None = None) -> Events:
    """The run's events: its attempts', and one of the error for each that failed (S4 §2).

    With `failure` the first attempt was made already. A run that fails for good raises DynamicNodeFailError,
    which whoever it passes through does not report again. A cancelled run is neither told of nor tried again,
    whatever the node's code raised.
    """
    events = _attempts(run, failure)
    if (parent := current.get()) is not None:
        ctx = run.tree.invocation
        return parent.child("node", run.node.name, ctx, subject=run.node, given=run.input).stream(events)
    return events


async def _attempts(run: NodeRun, failure: Exception | None) -> Events:
    if isinstance(failure, DynamicNodeFailError):
        raise failure
    while True:
        if failure is None:
            attempt = _attempt(run)
            try:
                async for event in attempt:
                    yield event
            except DynamicNodeFailError as error:
                run.error, run.error_path = error.error, error.error_node_path
                raise
            except Exception as error:  # noqa: BLE001 - the border to a node's code
                failure = error
            finally:
                await attempt.aclose()
        if failure is None:
            return
        if run.tree.cancelled:
            raise asyncio.CancelledError from failure  # which the node's code made of it
        shown = _shown(run, failure)
        yield run.error_event(shown)
        retry = run.node.retry_config
        delay = None if retry is None else retry.delay(failure, run.attempt)
        if delay is None:
            run.error, run.error_path = shown, run.path
            raise DynamicNodeFailError(shown, run.path) from shown
        failure = None
        await asyncio.sleep(delay)
        run.begin_attempt()


def _shown(run: NodeRun, failure: Exception) -> Exception:
    """`failure` as it may be told, logged and traced: without the secrets that the invocation has handed out."""
    secrets = run.tree.invocation.notes.get("secrets")
    return failure if secrets is None else secrets.mask_error(failure)


async def _attempt(run: NodeRun) -> Events:
    """The events of one attempt, with what the node's code left to say at its end."""
    events = run.node._events(run)
    if run.node.timeout is not None:
        events = _limited(events, run.node.name, run.node.timeout)
    failed = True
    try:
        async with aclosing(events):
            async for event in events:
                yield event
        failed = False
    except NodeInterruptedError as interrupted:
        run.question, failed = interrupted.request, False
    finally:
        if run.children:
            await end_children(run, cancel=failed)
    for event in conclusion(run):
        yield event


def conclusion(run: NodeRun) -> list[Event]:
    """The events of what the node's code left to say; before the last of them is committed, the run is over."""
    said: list[Event] = []
    if run.question is not None:
        said.append(run.stamp(run.question.as_event()))
    last = run.last_event()
    if last is not None:
        said.append(last)
    if run.children:
        adopt(run)
    if said:
        run.settle()  # so that the last event says so
    return said


async def await_call(run: NodeRun, call: Callable[[NodeRun], Any]) -> None:
    """Call a coroutine function and note on `run` what it gave, raised or asked."""
    failed = run.called = True
    try:
        run.pending = await call(run)
        failed = False
    except NodeInterruptedError as interrupted:
        run.question, failed = interrupted.request, False
    except Exception as error:  # noqa: BLE001 - the border to a node's code
        run.failure = error
    finally:
        if run.children:
            await end_children(run, cancel=failed)


async def _limited(events: Events, name: str, seconds: float) -> Events:
    """`events`, whose producer may take `seconds` in all; the time until each is committed is not its own."""
    loop = asyncio.get_running_loop()
    left = seconds
    async with aclosing(events):
        while True:
            started = loop.time()
            try:
                async with asyncio.timeout(left) as limit:
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                if limit.expired():
                    raise NodeTimeoutError(f"node {name!r} timed out after {seconds} seconds") from None
                raise
            left = max(0.0, left - (loop.time() - started))
            yield event
