"""Inputs: what a server of the new era wants to know before it gives a result.

The callbacks of the toolset answer it. Without one for questions to the user, these are left to who made the call.
"""

from __future__ import annotations

import asyncio

from mcp import ClientSession
from mcp.client.session import ClientRequestContext
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ErrorData,
    InputRequest,
    InputRequiredResult,
    InputResponses,
)
from pydantic import TypeAdapter

from newel.mcp.client.session import Session
from newel.mcp.errors import McpRefusedError
from newel.mcp.questions import MOST_ROUNDS, Asked, McpAsksError
from newel.mcp.texts import one_line
from newel_kernel import Json

_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)
_RESPONSES: TypeAdapter[InputResponses] = TypeAdapter(InputResponses)
#: Seconds between two rounds that ask nothing: the first pause, and the longest. The time limit of the call ends them.
_PAUSE, _LONGEST = 0.1, 1.0


async def call(
    session: ClientSession, name: str, arguments: Json, progress: object, asked: Asked | None = None
) -> CallToolResult:
    """The result of a tool; raises McpAsksError if the user must be asked. `asked` is what was, with the responses."""
    responses = _RESPONSES.validate_python(asked.responses) if asked is not None else None
    state, rounds, pause = (asked.state, asked.rounds, _PAUSE) if asked is not None else (None, 0, _PAUSE)
    while rounds <= MOST_ROUNDS:
        params = CallToolRequestParams(name=name, arguments=arguments, input_responses=responses, request_state=state)
        result = await session.send_request(
            CallToolRequest(params=params),
            _RESULT,
            progress_callback=progress,  # type: ignore[arg-type]  # the caller's type says so
        )
        if isinstance(result, CallToolResult):
            return result
        state = result.request_state
        if not result.input_requests:
            responses = None
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST)
            continue
        rounds, pause = rounds + 1, _PAUSE
        responses = await _answered(session, name, result, rounds)
    raise McpRefusedError(f"an MCP server asks more than {MOST_ROUNDS} times before it gives a result")


async def _answered(session: ClientSession, name: str, asked: InputRequiredResult, rounds: int) -> InputResponses:
    """What the callbacks answer; raises McpAsksError if some of it is for the user."""
    responses: InputResponses = {}
    for_user: Json = {}
    for key, request in (asked.input_requests or {}).items():
        if isinstance(session, Session) and session.asks_user and isinstance(request, ElicitRequest):
            for_user[key] = _plain(request)
            continue
        answer = await session.dispatch_input_request(ClientRequestContext(session=session, request_id=key), request)
        if isinstance(answer, ErrorData):
            raise McpRefusedError(
                f"the tool {one_line(name, 80)!r} asks for what this client declines to give "
                f"({one_line(request.method, 80)}): {one_line(answer.message)}"
            )
        responses[key] = answer
    if for_user:
        answered: Json = _RESPONSES.dump_python(responses, mode="json", by_alias=True, exclude_none=True)
        requests = {**{key: {} for key in responses}, **for_user}
        raise McpAsksError(
            f"the tool {one_line(name, 80)!r} asks the user something, which only a run of an agent can",
            Asked(requests, answered, asked.request_state, rounds),
        )
    return responses


def _plain(request: InputRequest) -> Json:
    return request.model_dump(by_alias=True, mode="json", exclude_none=True)
