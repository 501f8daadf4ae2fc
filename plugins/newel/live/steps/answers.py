"""Answers: the user's answers to the framework's own questions, which come through the queue of a live session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel import auth
from newel.live.queue import LiveRequest
from newel.questions.names import HIDDEN
from newel_types import Blob, Content

if TYPE_CHECKING:
    from newel.contexts.invocation_context import InvocationContext
    from newel.live.contract import LiveSession
    from newel.live.kinds import OutStep


def make(session: LiveSession) -> OutStep:
    """The step: what answers a question is stored and acted on in its turn, and not sent."""

    def step(request: LiveRequest | Blob) -> LiveRequest | Blob | None:
        if isinstance(request, Blob) or request.content is None or not answers(request.content):
            return request
        session.inbox.answered(_without_secrets(session.ctx, request.content))
        return None

    return step


def _without_secrets(ctx: InvocationContext, content: Content) -> Content:
    """`content` as the prologue `auth` leaves it, if there is one: it sees a message before it is stored."""
    sealing = [one for one in ctx.composition.prologues if one.name == "auth"]
    return auth.seal_answers(ctx, content) if sealing else content


def answers(content: Content) -> bool:
    """Whether the content answers a question of the framework's own."""
    return any(
        part.function_response is not None and part.function_response.name in HIDDEN for part in content.parts or ()
    )
