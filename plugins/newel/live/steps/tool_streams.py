"""tool_streams: the calls of streaming tools that listen get what the user sends, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.kinds import Outgoing, OutStep


def make(session: LiveSession) -> OutStep:
    """The step."""

    def step(request: Outgoing) -> Outgoing:
        session.share(request)
        return request

    return step
