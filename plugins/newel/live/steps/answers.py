"""Answers: the user's answers to the framework's own questions, which come through the queue of a live session."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from newel.live.queue import LiveRequest
from newel.questions.names import HIDDEN
from newel_kernel import Log
from newel_types import Blob, Content

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.kinds import OutStep


def make(session: LiveSession) -> OutStep:
    """The step: what answers a question is stored and acted on, and not sent."""

    def step(request: LiveRequest | Blob) -> LiveRequest | Blob | Coroutine[Any, Any, None]:
        if isinstance(request, Blob) or request.content is None or not _answers(request.content):
            return request
        return act(request.content)

    async def act(content: Content) -> None:
        ctx = session.ctx
        messages = ctx.composition.turns.messages(ctx, Log(ctx.session.events).turn(content))
        for event in messages:
            await ctx.session_service.append_event(ctx.session, event)
        if messages:
            session.inbox.answered(content)

    return step


def _answers(content: Content) -> bool:
    """Whether the content answers a question of the framework's own."""
    return any(
        part.function_response is not None and part.function_response.name in HIDDEN for part in content.parts or ()
    )
