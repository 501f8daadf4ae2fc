"""typed_text: what the user types is stored before it is sent; state that comes with a request is stored, too."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from newel.live.queue import LiveRequest

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.kinds import Outgoing, OutStep


def make(session: LiveSession) -> OutStep:
    """The step. It stores no function responses, and no part of a turn: the whole turn follows."""

    def step(request: Outgoing) -> Outgoing | Coroutine[Any, Any, Outgoing]:
        if not isinstance(request, LiveRequest) or (request.content is None and not request.state_delta):
            return request
        return store(request)

    async def store(request: LiveRequest) -> Outgoing:
        content = request.content
        answers = content is not None and any(part.function_response is not None for part in content.parts or ())
        if content is not None and not content.role:
            content = content.model_copy(update={"role": "user"})
            request = request.model_copy(update={"content": content})
        if content is not None and not (answers or request.partial or request.close):
            await session.store(content.model_copy(deep=True), request.state_delta)
        elif request.state_delta:
            await session.store(None, request.state_delta)
        return request

    return step
