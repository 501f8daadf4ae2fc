"""saved_audio: what was said, by the user and by the model, becomes artifacts, one for each turn and side."""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any

from newel.contexts.invocation_context import full_invocation
from newel.live.queue import LiveRequest
from newel.live.settings import Settings
from newel.live.wav import as_wav
from newel_kernel import Event, Key, LlmResponse, seam
from newel_types import Blob, Content, FileData, Part

if TYPE_CHECKING:
    from newel.contexts.invocation_context import InvocationContext
    from newel.live.contract import LiveSession
    from newel.live.kinds import InStep, Outgoing, OutStep
    from newel_kernel import InvocationContext as KernelInvocationContext

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Recording:
    """The audio of one side since the last write."""

    side: str
    #: Its `getvalue` copies nothing: a turn may be large.
    data: BytesIO = field(default_factory=BytesIO)
    mime_type: str = ""
    #: What was cut off before the end of a turn; it is written with the next event.
    full: list[tuple[bytes, str]] = field(default_factory=list)

    def add(self, blob: Blob, most: int) -> None:
        """Append a piece. If it has another type, or the bound is reached, the audio so far becomes a file."""
        mime_type, data = blob.mime_type or "", blob.data or b""
        if (size := self.data.tell()) and (mime_type != self.mime_type or size + len(data) > most):
            self.full = self.take()
        self.mime_type = mime_type
        self.data.write(data)

    def take(self) -> list[tuple[bytes, str]]:
        """Take the recordings, each as data and MIME type."""
        files, self.full = self.full, []
        if self.data.tell():
            files.append((self.data.getvalue(), self.mime_type))
            self.data = BytesIO()
        return files


@dataclass(slots=True)
class Recordings:
    """Both sides of a session."""

    user: Recording = field(default_factory=lambda: Recording("input"))
    model: Recording = field(default_factory=lambda: Recording("output"))


#: What is recorded in this invocation, whichever agent runs.
_RECORDINGS: Key[Recordings] = Key("recordings", Recordings)


def make_out(session: LiveSession) -> OutStep | None:
    """The step that keeps what the user says."""
    if not _is_saving(session):
        return None
    recording, most = session.ctx.stash[_RECORDINGS].user, session.settings.saved_bytes

    def step(request: Outgoing) -> Outgoing:
        blob = request.blob if isinstance(request, LiveRequest) else request
        if blob is not None and _is_audio(blob):
            recording.add(blob, most)
        return request

    return step


def make_in(session: LiveSession) -> InStep | None:
    """The step that keeps what the model says, and writes both when a turn ends."""
    if not _is_saving(session):
        return None
    recordings, most = session.ctx.stash[_RECORDINGS], session.settings.saved_bytes

    def step(response: LlmResponse) -> Coroutine[Any, Any, Sequence[Event]] | None:
        if session.restarts:  # something else replaces what the model has said in this turn
            recordings.model.take()
            return _written(session, [recordings.user])
        content = response.content
        for part in (content.parts or ()) if content is not None else ():
            if part.inline_data is not None and _is_audio(part.inline_data):
                recordings.model.add(part.inline_data, most)
        if response.interrupted:  # the user goes on speaking
            return _written(session, [recordings.model])
        if response.turn_complete:
            return _written(session, [recordings.user, recordings.model])
        if recordings.user.full or recordings.model.full:
            return _written(session, [one for one in (recordings.user, recordings.model) if one.full], whole=False)
        return None

    return step


def _is_saving(session: LiveSession) -> bool:
    return session.ctx.run_config.save_live_blob and session.ctx.artifact_service is not None


def _is_audio(blob: Blob) -> bool:
    return (blob.mime_type or "").startswith("audio/")


async def _written(session: LiveSession, recordings: Sequence[Recording], *, whole: bool = True) -> Sequence[Event]:
    return await written(session.ctx, recordings, whole=whole)


async def close(context: KernelInvocationContext) -> Sequence[Event]:
    """Save what was recorded since the last turn, at the end of the run; its events are stored, and not yielded."""
    if _RECORDINGS not in context.stash:
        return ()
    recordings = context.stash[_RECORDINGS]
    return await written(full_invocation(context), [recordings.user, recordings.model])


def recordings_of(ctx: InvocationContext) -> Recordings:
    """What is recorded in the invocation and not written yet."""
    return ctx.stash[_RECORDINGS]


async def written(ctx: InvocationContext, recordings: Sequence[Recording], *, whole: bool = True) -> list[Event]:
    """Save what was recorded (without `whole`, what was cut off); return the events that refer to the artifacts."""
    events: list[Event] = []
    for one in recordings:
        files = one.take() if whole else one.full
        if not whole:
            one.full = []
        for data, mime_type in files:
            if (event := await _saved(ctx, one.side, data, mime_type)) is not None:
                events.append(event)
    return events


async def _saved(ctx: InvocationContext, side: str, data: bytes, mime_type: str) -> Event | None:
    """Save one file; the event that refers to it, or None if the store does not take it."""
    service, where = ctx.artifact_service, ctx.session
    if service is None:
        return None
    if ctx.composition.settings_of("live", Settings).save_wav:
        data, mime_type = as_wav(data, mime_type)
    kind = mime_type.partition(";")[0].rpartition("/")[2]
    name = f"adk_live_audio_storage_{side}_audio_{int(seam.clock() * 1000)}.{kind}"
    try:
        version = await service.save_artifact(
            app_name=where.app_name,
            user_id=where.user_id,
            session_id=where.id,
            filename=name,
            artifact=Part(inline_data=Blob(data=data, mime_type=mime_type)),
        )
    except Exception:  # noqa: BLE001 - a plugin boundary: a store that fails must not end the conversation
        _log.exception("%d bytes of the live session's audio could not be saved", len(data))
        return None
    uri = f"artifact://{where.app_name}/{where.user_id}/{where.id}/_adk_live/{name}#{version}"
    role = "user" if side == "input" else "model"
    content = Content(role=role, parts=[Part(file_data=FileData(file_uri=uri, mime_type=mime_type))])
    return Event(
        invocation_id=ctx.invocation_id,
        author="user" if side == "input" else ctx.agent.name,
        branch=ctx.branch,
        content=content,
        isolation_scope=ctx.isolation_scope,
    )
