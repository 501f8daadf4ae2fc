"""Streaming tools: calls that send the model one result after another, until they end, are stopped, or the run ends."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from newel.live.queue import LiveRequestQueue, ToolStream
from newel.live.waiting import cancelled
from newel_kernel import BaseTool, Event, Json
from newel_types import Content, FunctionCall, FunctionResponse, Part, deep_copy

if TYPE_CHECKING:
    from newel.live.contract import LiveSession

#: The function by which a model stops a streaming tool, if the user has declared one.
STOP = "stop_streaming"
#: The parameter of a tool that listens.
STREAM = "input_stream"
_PENDING = "The function runs; its results come as they are there."
#: How many turns of the loop to wait for the end after an item, so that the last item is sent as the last one.
_TURNS = 3
_log = logging.getLogger(__name__)


def stop_target(call: FunctionCall) -> str | None:
    """The name of the tool that `call` stops, or None."""
    target = (call.args or {}).get("function_name")
    return target if isinstance(target, str) else None


def is_streaming(tool: BaseTool) -> bool:
    """Whether calls of the tool run concurrently with the conversation: an async generator, or one with `run_live`."""
    return hasattr(tool, "run_live") or inspect.isasyncgenfunction(getattr(tool, "func", None))


class Running:
    """The calls that run, by their ids: their tasks, the names of those that run meanwhile, their queues."""

    __slots__ = ("calls", "names", "streams")

    def __init__(self) -> None:
        self.calls: dict[str, asyncio.Task[Any]] = {}
        self.names: dict[str, str] = {}
        self.streams: dict[str, LiveRequestQueue] = {}


class Streaming:
    """A call of a streaming tool."""

    def __init__(self, session: LiveSession, running: Running, tool: BaseTool, call: FunctionCall) -> None:
        self.session = session
        self.running = running
        self.tool = tool
        self.call = call
        self.context = session.ctx.context_type(session.ctx, function_call_id=call.id)

    def begin(self) -> Json:
        """Run the call concurrently with the conversation; return what the model gets meanwhile."""
        running, call_id = self.running, self.call.id or ""
        running.names[call_id] = self.tool.name
        running.calls[call_id] = self.session.spawn(self._run(), f"streaming tool {self.tool.name}")
        return {"status": _PENDING}

    async def _run(self) -> None:
        running, call_id = self.running, self.call.id or ""
        try:
            await self._send_all()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a plugin boundary: the model learns of it, and the session goes on
            _log.exception("the streaming tool %s failed", self.tool.name)
            # The error's text may hold what the model must not see.
            failure = {"error": f"Invoking `{self.tool.name}()` failed with an internal error."}
            await self._send(failure, last=True, partial=False)
            if self.session.settings.record_tool_failures:
                why = f"the streaming tool {self.tool.name!r} failed: {type(error).__name__}: {error}"
                await self.session.emit(self.session.event(error_code="TOOL_FAILED", error_message=why))
        finally:
            for by_call in (running.calls, running.names, running.streams):
                by_call.pop(call_id, None)

    async def _send_all(self) -> None:
        started = await self._start()
        if not inspect.isasyncgen(started):
            if started is not None:  # a refusal, or a missing argument
                await self._send(started, last=True, partial=False)
            return
        items: asyncio.Queue[object] = asyncio.Queue()
        permits = asyncio.Semaphore(1)
        producer = self.session.spawn(_produce(started, items, permits), f"items of {self.tool.name}")
        try:
            while (item := await items.get()) is not _END:
                for _ in range(_TURNS):
                    await asyncio.sleep(0)
                await self._give(item, last=producer.done() and items.qsize() == 1 and producer.exception() is None)
                permits.release()
            await producer
        finally:
            await cancelled([producer], self.session.settings.tool_seconds)

    async def _start(self) -> object:
        """What the tool returns for the call: an async generator, or its only result."""
        args: Json = deep_copy(self.call.args) if self.call.args else {}
        live = getattr(self.tool, "run_live", None)
        if live is not None:
            result = live(tool_context=self.context, stream=self._listen(ToolStream()), **args)
            return await result if inspect.isawaitable(result) else result
        tool = self.tool
        if _takes_stream(tool.func):  # type: ignore[attr-defined]  # see is_streaming
            tool = tool.__newel_with_arguments__({STREAM: self._listen(LiveRequestQueue())})  # type: ignore[attr-defined]
        return await tool.run_async(args=args, tool_context=self.context)  # policies are for results, and this has many

    def _listen(self, stream: LiveRequestQueue) -> LiveRequestQueue:
        stream.claim(self, self.session.settings.queue_bytes)
        self.running.streams[self.call.id or ""] = stream
        return stream

    async def _give(self, item: object, *, last: bool) -> None:
        """Show an event to the user; send anything else to the model."""
        if not isinstance(item, Event):
            await self._send(item, last=last)
        elif item.content is None:
            _log.warning("the streaming tool %s yielded an event without content: nothing is shown", self.tool.name)
        else:
            event = self.session.event(item.content.model_copy(deep=True, update={"role": "user"}))
            event.branch = f"{self.tool.name}@{self.call.id}"
            await self.session.emit(event)

    async def _send(self, item: object, *, last: bool, partial: bool = True) -> None:
        response = FunctionResponse(id=self.call.id, name=self.tool.name, will_continue=not last)
        response.scheduling = getattr(self.tool, "response_scheduling", None)
        if isinstance(item, FunctionResponse):
            response.scheduling = item.scheduling or response.scheduling
            item = item.response
        response.response = item if isinstance(item, dict) else {"result": item}
        content = Content(role="user", parts=[Part(function_response=response)])
        await self.session.send(content, partial=partial)


_END = object()


async def _produce(started: Any, items: asyncio.Queue[object], permits: asyncio.Semaphore) -> None:
    """Put what the tool yields into `items`, in a task of its own, one item ahead of `_give`.

    An event is committed before the tool goes on.
    """
    try:
        async with aclosing(started):
            async for item in started:
                await permits.acquire()
                items.put_nowait(item)
                if isinstance(item, Event):
                    await permits.acquire()
                    permits.release()
    finally:
        items.put_nowait(_END)


def _takes_stream(function: Callable[..., object]) -> bool:
    """Whether the function has a parameter `input_stream` for the duplicate of what the user sends."""
    parameter = inspect.signature(function).parameters.get(STREAM)
    annotation = parameter.annotation if parameter is not None else None
    return annotation is LiveRequestQueue or (isinstance(annotation, str) and annotation.endswith("LiveRequestQueue"))
