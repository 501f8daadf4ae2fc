"""tool_streams: the calls of streaming tools that listen get what the user sends, too, except answers to questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.live.steps.answers import answers
from newel_types import Blob

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.kinds import Outgoing, OutStep


def make(session: LiveSession) -> OutStep:
    """The step. Most of the time no call listens, which shows without asking the session."""
    listeners = session.listeners

    def step(request: Outgoing) -> Outgoing:
        if listeners and (isinstance(request, Blob) or request.content is None or not answers(request.content)):
            session.share(request)
        return request

    return step
