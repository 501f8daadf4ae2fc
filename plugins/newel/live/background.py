"""Background: the tool calls of a live run, those that the model waits for and those that run meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from newel.live.queue import LiveRequest
from newel.live.streaming import STOP, Running, Streaming, is_streaming, stop_target
from newel.live.waiting import cancelled
from newel.questions.awaiting import awaiting
from newel_kernel import Event, dispatch, merge_results, seam, settle
from newel_types import Behavior, Content, FunctionCall, FunctionResponse, Part

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel_kernel import BaseTool
    from newel_types import Blob


class Background:
    """Runs the calls of a model's responses; all its tasks end with the run."""

    __slots__ = ("_revoked", "_tasks", "running", "session")

    def __init__(self, session: LiveSession) -> None:
        self.session = session
        self.running = Running()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._revoked: set[str] = set()

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """A task that ends with the run."""
        task: asyncio.Task[None] = seam.spawn(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def run(self, event: Event, calls: Sequence[FunctionCall]) -> Iterable[Event]:
        """Run `calls`, those of `event`; return the events of their results, as `settle` gives them."""
        tools = self.session.request.tools_dict
        waited: list[FunctionCall] = []
        at_once: list[Event] = []
        for call in calls:
            tool = tools.get(call.name or "")
            if call.name == STOP and (target := stop_target(call)) is not None:
                at_once.append(self._result(call, {"status": await self._stop(target)}))
            elif tool is not None and is_streaming(tool):
                at_once.append(self._result(call, Streaming(self.session, self.running, tool, call).begin()))
            elif tool is not None and runs_beside(tool):
                self._begin(call, event, tool)
            else:
                waited.append(call)
        results = [*at_once, *(await self._wait_for(waited))]
        order = {call.id: index for index, call in enumerate(calls)}
        results.sort(key=lambda one: order[one.get_function_responses()[0].id])
        merged = merge_results(results) if results else None
        return await settle(self.session.ctx, event, calls, merged)

    async def _wait_for(self, calls: Sequence[FunctionCall]) -> list[Event]:
        """The results of calls that the model waits for; if one fails, the others are cancelled first."""
        if not calls:
            return []
        ctx, tools = self.session.ctx, self.session.request.tools_dict
        tasks = [seam.spawn(dispatch(ctx, [call], tools), name=f"tool {call.name}") for call in calls]
        self.running.calls.update({call.id or "": task for call, task in zip(calls, tasks, strict=True)})
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for call, task in zip(calls, tasks, strict=True):
                if task.done() and not (task.cancelled() and call.id in self._revoked):
                    task.result()
            await asyncio.wait(tasks)
            events = [self._outcome(call, task) for call, task in zip(calls, tasks, strict=True)]
            return [event for event in events if event is not None]
        finally:
            await cancelled(tasks, self.session.settings.tool_seconds)
            for call in calls:
                self.running.calls.pop(call.id or "", None)

    def _outcome(self, call: FunctionCall, task: asyncio.Task[Event | None]) -> Event | None:
        if task.cancelled() and call.id in self._revoked:
            return self._result(call, {"status": "cancelled: the model does not wait for it any more"})
        return task.result()

    def revoke(self, ids: Iterable[str]) -> None:
        """The service wants no results of these calls: those that run are cancelled, and nothing is sent for them."""
        for call_id in ids:
            if (task := self.running.calls.get(call_id)) is not None and not task.done():
                self._revoked.add(call_id)
                task.cancel()

    def to_send(self, event: Event) -> Content | None:
        """The results that go to the model; None if nothing is left.

        Left out are calls that the service has revoked, and calls that the user is asked about: they have no result
        yet.
        """
        content, actions = event.content, event.touched_actions
        if content is None:
            return None
        out = {*self._revoked, *awaiting(event)}
        if actions is not None:
            out |= actions.requested_tool_confirmations.keys() | actions.requested_auth_configs.keys()
        if not out:
            return content
        parts = [p for p in content.parts or () if p.function_response is None or p.function_response.id not in out]
        return Content(role=content.role, parts=parts) if parts else None

    def copy(self, item: LiveRequest | Blob) -> None:
        """Pass the user's input on to the calls that listen, too."""
        for stream in self.running.streams.values():
            if isinstance(item, LiveRequest):
                stream.send(item)
            else:
                stream.send_realtime(item)

    async def end(self) -> None:
        """Cancel and await every call that still runs, and every task of the run."""
        for stream in self.running.streams.values():
            stream.close()
        seconds = self.session.settings.tool_seconds
        await cancelled([*self.running.calls.values(), *self._tasks], seconds)
        self.running.calls.clear()
        self.running.names.clear()
        self.running.streams.clear()

    def _result(self, call: FunctionCall, response: dict[str, Any]) -> Event:
        answer = FunctionResponse(id=call.id, name=call.name, response=response)
        return self.session.event(Content(role="user", parts=[Part(function_response=answer)]))

    def _begin(self, call: FunctionCall, event: Event, tool: BaseTool) -> None:
        """Run a call concurrently with the conversation; its result is stored, yielded and sent when it is ready."""
        call_id = call.id or ""
        self.running.names[call_id] = tool.name
        self.running.calls[call_id] = self.spawn(self._beside(call, event, tool), f"tool {tool.name}")

    async def _beside(self, call: FunctionCall, event: Event, tool: BaseTool) -> None:
        session = self.session
        call_id = call.id or ""
        try:
            results = await dispatch(session.ctx, [call], session.request.tools_dict)
            for one in await settle(session.ctx, event, [call], results):
                scheduled(one, tool)
                await session.emit(one)
                if one.get_function_responses() and one.content is not None:
                    await session.send(one.content)
        except asyncio.CancelledError:
            if call_id in self._revoked:
                result = self._result(call, {"status": "cancelled: the model does not wait for it any more"})
                self.spawn(session.emit(result), f"end of {tool.name}")
            raise
        except Exception as error:  # noqa: BLE001 - a plugin boundary: the run decides what a tool's failure means
            session.inbox.end(error)
        finally:
            self.running.calls.pop(call_id, None)
            self.running.names.pop(call_id, None)

    async def _stop(self, name: str) -> str:
        """Cancel the running calls of a tool, and say what came of it."""
        running = self.running
        tasks = [running.calls[one] for one, tool in running.names.items() if tool == name and one in running.calls]
        if not tasks:
            return f"No streaming function named {name} is running."
        left = await cancelled(tasks, self.session.settings.tool_seconds)
        return f"The streaming function {name} {'has not ended yet' if left else 'was stopped'}."


def scheduled(event: Event, tool: BaseTool) -> None:
    """Note on the results of a tool when the model is to react to them."""
    scheduling = getattr(tool, "response_scheduling", None)
    for part in (event.content.parts or ()) if scheduling is not None and event.content is not None else ():
        if part.function_response is not None:
            part.function_response.scheduling = scheduling


def runs_beside(tool: BaseTool) -> bool:
    """Whether the conversation goes on while the tool runs."""
    if is_streaming(tool):
        return True
    behavior = getattr(tool, "behavior", None)
    if behavior is not None:
        return Behavior(behavior) is Behavior.NON_BLOCKING
    return getattr(tool, "response_scheduling", None) is not None
