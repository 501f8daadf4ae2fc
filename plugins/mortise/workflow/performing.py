"""Performing: a node's run, attempt after attempt. Every run that is not done in place goes through `perform`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from mortise.events.request_input import RequestInput
from mortise.workflow.child_ends import adopt, end_children
from mortise.workflow.errors import DynamicNodeFailError, NodeInterruptedError
from mortise_kernel.errors import NodeTimeoutError
from mortise_kernel.events import Event

if TYPE_CHECKING:
    from mortise.workflow.node_run import NodeRun

Events = AsyncGenerator[Event, None]


async def perform(run: NodeRun, failure: Exception | None = None) -> Events:
    """The run's events: its attempts', and one of the error for each that failed (S4 §2).

    With `failure` the first attempt was made already. A run that fails for good raises DynamicNodeFailError,
    which whoever it passes through does not report again.
    """
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
        yield run.error_event(failure)
        retry = run.node.retry_config
        delay = None if retry is None else retry.delay(failure, run.attempt)
        if delay is None:
            run.error, run.error_path = failure, run.path
            raise DynamicNodeFailError(failure, run.path) from failure
        failure = None
        await asyncio.sleep(delay)
        run.begin_attempt()


async def _attempt(run: NodeRun) -> Events:
    """The events of one attempt, with what the node's code left to say at its end."""
    question: RequestInput | None = None
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
        question, failed = interrupted.request, False
    finally:
        if run.children:
            await end_children(run, cancel=failed)
    if question is not None:
        yield run.stamp(question.as_event())
    last = run.last_event()
    if run.children:
        adopt(run)
    if last is not None:
        run.settle()  # so that this event says so
        yield last


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
