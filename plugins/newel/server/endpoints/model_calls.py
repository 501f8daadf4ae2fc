"""Model calls: how the request of each one came to be, step by step."""

from __future__ import annotations

from newel.server.calls import Call
from newel.server.endpoints.sessions import place
from newel_kernel import Json


async def list_model_calls(call: Call) -> object:
    """The recent model calls of a session's runs at this process: each request before and after every step.

    The first call of an agent in an invocation made its first event with content there, and so on.
    """
    calls = call.server.calls
    found: list[Json] = calls.of_session(place(call)) if calls is not None else []
    return found
