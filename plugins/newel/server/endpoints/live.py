"""Live runs over a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from newel.contexts.run_config import RunConfig
from newel.live.queue import LiveRequest, LiveRequestQueue
from newel.runs import RunRefusedError
from newel.server.calls import Call, endpoint
from newel.server.operations.load import LOAD
from newel.server.places import Place
from newel.server.refusals import deny, logged, refusal_of
from newel.server.wire import Wire
from newel_kernel import Event, SessionNotFoundError, StreamingMode, seam

#: Close codes of RFC 6455.
_NORMAL, _PROTOCOL_ERROR, _INVALID, _POLICY, _FAILED = 1000, 1002, 1007, 1008, 1011
#: A close frame has room for no more.
_MOST_OF_A_REASON = 100
#: How long a run has to end once its client wants no more, in seconds.
_PATIENCE = 2.0


class LiveQuery(BaseModel):
    """The session, and how the agent answers."""

    app_name: str
    user_id: str
    session_id: str
    modalities: list[Literal["TEXT", "AUDIO", "VIDEO"]] = ["AUDIO"]
    proactive_audio: bool | None = None
    enable_affective_dialog: bool | None = None
    enable_session_resumption: bool | None = None


@endpoint(query=LiveQuery)
async def run_live(call: Call) -> None:
    """A live run: each message of the client is a `LiveRequest`, each message of the server an event."""
    websocket, query = call.websocket, call.query
    where = Place(app_name=query.app_name, user_id=query.user_id, session_id=query.session_id)
    if call.user is not None and call.user != query.user_id:
        await websocket.close(_POLICY)
        return
    try:
        call.server.admit()
    except RunRefusedError as error:
        await deny(websocket, error)
        return
    LOAD.live += 1
    try:
        await _accepted(call, websocket, where)
    finally:
        LOAD.live -= 1


async def _accepted(call: Call, websocket: WebSocket, where: Place) -> None:
    """Talk, and say in the close frame how it ended."""
    await websocket.accept()
    try:
        await _talk(call, websocket, where)
    except WebSocketDisconnect:  # the client has left
        return
    except ValidationError:
        await _close(websocket, _INVALID, "a message must be a LiveRequest in JSON")
    except Exception as error:  # noqa: BLE001 - the boundary of a request
        refusal = refusal_of(error)
        if refusal is not None:
            await _close(websocket, _PROTOCOL_ERROR, str(refusal.detail))
        else:
            await _close(websocket, _FAILED, f"Internal Server Error, ref {logged(error)['ref']}")
    else:
        await _close(websocket, _NORMAL)


async def _talk(call: Call, websocket: WebSocket, where: Place) -> None:
    """Run until the client or the agent ends it; what ends it with an error is raised."""
    query = call.query
    runner = await call.server.runner(query.app_name)
    if await call.server.services.session.open(**where) is None:
        raise SessionNotFoundError(f"there is no session {query.session_id!r}")
    queue = LiveRequestQueue()
    events = runner.run_live(
        user_id=query.user_id, session_id=query.session_id, live_request_queue=queue, run_config=_config(query)
    )
    sending = seam.spawn(_send(websocket, events, await call.server.wire(query.app_name)), name="live run")
    listening = seam.spawn(_listen(websocket, queue), name="live client")
    tasks = (sending, listening)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if not sending.done():  # the client wants no more: the run ends by itself
            queue.close()
            await asyncio.wait([sending], timeout=_PATIENCE)
        done = [one.exception() for one in tasks if one.done()]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    if (error := next((one for one in done if one is not None), None)) is not None:
        raise error


async def _listen(websocket: WebSocket, queue: LiveRequestQueue) -> None:
    """Hand on what the client says, until it closes the queue."""
    while not queue.closed:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", _NORMAL))
        queue.send(LiveRequest.model_validate_json(message.get("text") or message.get("bytes") or b""))


async def _send(websocket: WebSocket, events: AsyncGenerator[Event, None], wire: Wire) -> None:
    async with aclosing(events):
        async for event in events:
            await websocket.send_text(wire.event(event).decode())


async def _close(websocket: WebSocket, code: int, reason: str = "") -> None:
    with suppress(RuntimeError, WebSocketDisconnect):  # it is closed already
        await websocket.close(code, reason[:_MOST_OF_A_REASON])


def _config(query: LiveQuery) -> RunConfig:
    options: dict[str, Any] = {"response_modalities": list(query.modalities), "streaming_mode": StreamingMode.BIDI}
    if query.proactive_audio is not None:
        options["proactivity"] = {"proactive_audio": query.proactive_audio}
    if query.enable_affective_dialog is not None:
        options["enable_affective_dialog"] = query.enable_affective_dialog
    if query.enable_session_resumption:
        options["session_resumption"] = {}
    return RunConfig(**options)
