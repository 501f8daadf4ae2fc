"""The memory of a user."""

from __future__ import annotations

from pydantic import BaseModel, Field

from newel.memory.base_memory_service import SearchMemoryResponse
from newel.server.calls import Call, endpoint
from newel.server.endpoints.sessions import Body, owner
from newel_kernel import SessionNotFoundError


class MemoryUpdate(Body):
    """The session to remember."""

    session_id: str


class MemoryQuery(BaseModel):
    """The words to look for."""

    query: str = Field(min_length=1)


@endpoint(query=MemoryQuery, answer=SearchMemoryResponse)
async def search_memory(call: Call) -> object:
    """What the memory of a user has on some words, the best first."""
    memory = call.server.services.memory
    assert memory is not None  # the app opens one
    return await memory.search_memory(**owner(call), query=call.query.query)


@endpoint(body=MemoryUpdate, answer=None)
async def update_memory(call: Call) -> None:
    """Put a session into the memory of its user."""
    services = call.server.services
    session = await services.session.get_session(**owner(call), session_id=call.body.session_id)
    if session is None:
        raise SessionNotFoundError(f"there is no session {call.body.session_id!r}")
    assert services.memory is not None  # the app opens one
    await services.memory.add_session_to_memory(session)
