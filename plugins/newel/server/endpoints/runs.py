"""Runs: started by a message, followed by any number of clients, and cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from newel.contexts.run_config import RunConfig
from newel.events.reserved import unreserved
from newel.runs import Run
from newel.server.calls import Call, endpoint
from newel.server.endpoints.sessions import Body, opened, owner, place
from newel.server.following import ending, follow
from newel.server.metrics.process import METRICS
from newel.server.operations.traffic import BEGAN
from newel.server.places import Place
from newel.server.refusals import JSON, Refusal
from newel.server.replaying import Elsewhere, Replay
from newel.server.schemas import Needs, NeedsOne
from newel.server.state import State
from newel.server.streams import EventStream
from newel_kernel import ConfigurationError, Event, Json, PairingError, SessionNotFoundError, StreamingMode, seam
from newel_types import Content, deferred

if TYPE_CHECKING:
    from newel.engines.engine import RunRecord

#: What follows the runs of workers loads with the first.
_begun_at_worker = deferred("newel.server.engine_sessions", "begun")
_of_session = deferred("newel.server.engine_sessions", "of_session")
_of_user = deferred("newel.server.engine_sessions", "of_user")
_cancelled = deferred("newel.server.engine_sessions", "cancelled")
_engine_run = deferred("newel.server.engine_runs", "EngineRun")
#: How long a run that begins late may be refused with a status, in seconds; later it is by a frame.
_PATIENCE = 0.5
#: How long a run goes on before its server looks whether the client is still there, in seconds.
_UNWATCHED = 0.05
#: What the user says, which is something.
Said = Annotated[Content, Needs("parts")]


class RunRequest(Body):
    """A message, or the invocation to resume."""

    app_name: str
    user_id: str
    session_id: str
    new_message: Said | None = None
    streaming: bool = False
    state_delta: Json | None = None
    invocation_id: str | None = None
    custom_metadata: Annotated[Json | None, AfterValidator(unreserved)] = None
    #: What becomes of the run if its client leaves; by default as the server says.
    on_disconnect: Literal["cancel", "detach"] | None = None


#: With the rule that no field alone can say.
_MESSAGE = Annotated[RunRequest, NeedsOne("new_message", "invocation_id")]


class RunAnswer(BaseModel):
    """A run that is under way."""

    id: str
    invocationId: str | None
    status: str


class ListedRun(RunAnswer):
    """A run that is not over: `running`, or with an engine also `queued` or `paused`, and why, in words for people."""

    sessionId: str
    reason: str = ""


class After(BaseModel):
    """The number of the last stored event that the client has seen."""

    after: int = Field(0, ge=0)


@endpoint(body=_MESSAGE, answer=list[Event])
async def run(call: Call) -> Response:
    """Run an agent, and answer with its events once it has ended."""
    run, where = await _started(call, yields_message=False)
    events: list[Event] = []
    with _watched(call.request, run) if _cancels(call) else nullcontext():
        try:
            async with aclosing(run.batches()) as batches:
                async for batch in batches:
                    events += [event for _, event in batch]
        except (ConfigurationError, PairingError) as error:
            raise refused(error) from error
    if (ended := ending(run, call.server.cuts)) is not None:
        raise ended
    if call.server.engine is not None:  # its log has the messages, too
        events = [event for event in events if event.author != "user"]
    wire = await call.server.wire(where["app_name"])
    return Response(wire.events(events), media_type=JSON)


@endpoint(body=_MESSAGE, media_type="text/event-stream")
async def run_sse(call: Call) -> Response:
    """Run an agent, and stream its events. With `Last-Event-ID`, the events that the client has missed of its run."""
    if last := call.request.headers.get("last-event-id"):
        invocation, number = _read(last)
        return await _followed(call, _where(call), invocation, number)
    run, where = await _started(call, yields_message=True)
    return await streamed(call, where, run, 0, starts=True)


@endpoint(answer=list[ListedRun])
async def list_runs(call: Call) -> object:
    """The runs of a session that are under way in this process; with an engine, those of all processes, newest first.

    With an engine there are also those that wait for a worker (`queued`), or for an answer (`paused`).
    """
    server, where = call.server, place(call)
    if server.engine is not None:
        await opened(call)
        return [_recorded(record) for record in await _of_session()(server, where)]
    runs = server.runs_of(**where)
    if not runs:
        await opened(call)
    return [_listed(run) for run in runs]


@endpoint(answer=list[ListedRun])
async def list_user_runs(call: Call) -> object:
    """The runs in all sessions of a user with an app, as in the list of a session."""
    server, where = call.server, owner(call)
    if server.engine is not None:
        return [_recorded(record) for record in await _of_user()(server.engine, where)]
    return [_listed(run) for run in server.runs_of(**where)]


@endpoint(query=After, media_type="text/event-stream")
async def follow_run(call: Call) -> Response:
    """Stream the events of a run (by its id or its invocation's), also after its end and from another process."""
    where, id_ = place(call), call.path["run_id"]
    number = call.query.after
    if last := call.request.headers.get("last-event-id"):
        number = max(number, _read(last)[1])
    return await _followed(call, where, id_, number)


@endpoint(answer=RunAnswer)
async def cancel_run(call: Call) -> object:
    """Cancel a run, and wait for its end."""
    where, id_ = place(call), call.path["run_id"]
    run = _running(call.server, where, id_)
    if run is not None:
        run.cancel()
        await run.wait()
        return described(run)
    if call.server.engine is not None and (answer := await _cancelled()(call.server, where, id_)):
        return answer
    if await _is_stored(call, where, id_):
        raise Refusal(409, "The run has ended, or another process runs it")
    raise Refusal(404, "Run not found")


async def _started(call: Call, *, yields_message: bool) -> tuple[Run, Place]:
    body, where = call.body, _where(call)
    runner = await call.server.runner(where["app_name"])
    if body.new_message is None and await call.server.services.session.open(**where) is None:
        raise SessionNotFoundError(f"there is no session {where['session_id']!r}")
    if call.server.engine is not None:
        options = {"state_delta": body.state_delta, "custom_metadata": body.custom_metadata}
        return await at_worker(call, where, body.new_message, body.invocation_id, **options), where
    config: dict[str, Any] = {}
    if body.streaming:
        config["streaming_mode"] = StreamingMode.SSE
    if body.custom_metadata:
        config["custom_metadata"] = body.custom_metadata
    run = runner.start(
        user_id=where["user_id"],
        session_id=where["session_id"],
        invocation_id=body.invocation_id,
        new_message=body.new_message,
        state_delta=body.state_delta,
        run_config=RunConfig(**config) if config else None,
        yield_user_message=yields_message,
    )
    return run, where


async def at_worker(call: Call, where: Place, message: Any, invocation_id: str | None = None, **options: Any) -> Run:
    """The run of a worker, as one that is followed here; a Refusal if the message does not fit."""
    server, runner = call.server, await call.server.runner(where["app_name"])
    options["streaming"] = call.body.streaming
    try:
        run: Run = await _begun_at_worker()(server, runner, where, message, invocation_id, **options)
    except (ConfigurationError, PairingError) as error:
        raise refused(error) from error
    return run


async def _followed(call: Call, where: Place, id_: str, number: int) -> EventStream:
    """The stream of a run (by its id or its invocation's) after a number: it may run here, elsewhere, or no more."""
    run = _running(call.server, where, id_)
    if run is None and not await _is_stored(call, where, id_) and not await _elsewhere(call, where, id_).goes_on():
        raise Refusal(404, "Run not found")
    return await streamed(call, where, run or id_, number)


async def streamed(call: Call, where: Place, run: Run | str, after: int = 0, *, starts: bool = False) -> EventStream:
    """The stream of a run, or of an invocation that does not run here; a client that starts it may end it, too."""
    store, wire = call.server.services.session, await call.server.wire(where["app_name"])
    if isinstance(run, str):
        is_cut = partial(getattr, call.server, "cuts")
        elsewhere = _elsewhere(call, where, run)
        frames = Replay(store, where, run, after, wire, elsewhere, call.server.bus, is_cut).frames()
        await anext(frames)
        return EventStream(frames, call.server.settings.heartbeat, lambda: None)
    is_late = call.server.engine is not None or (starts and call.body.new_message is None)
    frames = follow(run, store, where, wire, after, raises=not is_late, is_cut=lambda: call.server.cuts)
    try:  # refuses with a status what cannot begin
        await (begun_soon(run) if is_late else anext(frames, None))
    except (ConfigurationError, PairingError) as error:
        raise refused(error) from error
    left = run.cancel if starts and _cancels(call) else _stay
    first = partial(_time_first, call.request, where["app_name"]) if starts else None
    return EventStream(frames, call.server.settings.heartbeat, left, {"x-run-id": run.id}, first)


async def begun_soon(run: Run) -> None:
    """Wait a little for a run whose first event may take as long as a model does, or until a worker is free."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            await run.begun()


def _time_first(request: Request, app: str) -> None:
    """Count how long the first event of a stream took."""
    if (began := request.scope.get(BEGAN)) is not None:
        METRICS.frames.add(seam.monotonic() - began, app)


def _stay() -> None:
    """Leave the run alone."""


def _where(call: Call) -> Place:
    """The session that a body names."""
    body = call.body
    if call.user is not None and call.user != body.user_id:
        raise Refusal(403, "the body names another user than the one who calls")
    return Place(app_name=body.app_name, user_id=body.user_id, session_id=body.session_id)


def _cancels(call: Call) -> bool:
    """Whether the run ends if its client leaves."""
    server = call.server
    return (call.body.on_disconnect or server.options.on_disconnect or server.settings.on_disconnect) == "cancel"


@contextmanager
def _watched(request: Request, run: Run) -> Iterator[None]:
    """Cancel the run if its client leaves meanwhile. Most runs end before that takes a task."""
    watches: list[asyncio.Task[None]] = []
    timer = asyncio.get_running_loop().call_later(
        _UNWATCHED, lambda: watches.append(seam.spawn(_cancel_if_left(request, run)))
    )
    try:
        yield
    finally:
        timer.cancel()
        for watch in watches:
            watch.cancel()


async def _cancel_if_left(request: Request, run: Run) -> None:
    """Cancel the run once the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    run.cancel()


def refused(error: Exception) -> Exception:
    """The refusal of a message that does not fit the session or its app; other errors unchanged."""
    if isinstance(error, PairingError) or type(error) is ConfigurationError:
        return Refusal(409, str(error))
    return error


def _running(server: State, where: Place, id_: str) -> Run | None:
    return next((one for one in server.runs_of(**where) if id_ in (one.id, one.invocation_id)), None)


async def _is_stored(call: Call, where: Place, invocation: str) -> bool:
    session = await call.server.services.session.open(**where)
    return session is not None and any(event.invocation_id == invocation for event in session.events)


def _elsewhere(call: Call, where: Place, invocation: str) -> Elsewhere:
    """What is known of a run that this process does not run."""
    if call.server.engine is None:
        return Elsewhere()
    found: Elsewhere = _engine_run()(call.server, where, invocation)
    return found


def _read(last: str) -> tuple[str, int]:
    """The invocation and the number in an id of a frame."""
    invocation, colon, number = last.rpartition(":")
    if not colon or not (number.isascii() and number.isdecimal()):
        raise Refusal(422, [{"type": "value_error", "loc": ["header", "last-event-id"], "msg": "invocation:number"}])
    return invocation, int(number)


def described(run: Run) -> dict[str, object]:
    """What a client learns of a run."""
    return {"id": run.id, "invocationId": run.invocation_id, "status": run.status.value}


def _listed(run: Run) -> ListedRun:
    return ListedRun(id=run.id, invocationId=run.invocation_id, status=run.status.value, sessionId=run.session_id)


def _recorded(record: RunRecord) -> ListedRun:
    """A run as the engine knows it."""
    spec, state = record.spec, str(record.state)
    names = {"id": spec.invocation_id, "invocationId": spec.invocation_id, "sessionId": spec.session_id}
    return ListedRun(**names, status=state, reason=record.reason)
