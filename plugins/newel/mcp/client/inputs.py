"""Inputs: what a server of the new era wants to know before it gives a result, answered by the callbacks."""

from __future__ import annotations

import asyncio

from mcp import ClientSession
from mcp.client.session import ClientRequestContext
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ErrorData,
    InputRequiredResult,
    InputResponses,
)
from pydantic import TypeAdapter

from newel.mcp.errors import McpRefusedError
from newel.mcp.texts import one_line
from newel_kernel import Json

_RESULT: TypeAdapter[CallToolResult | InputRequiredResult] = TypeAdapter(CallToolResult | InputRequiredResult)
#: The most rounds of questions of one call, and the seconds between two that ask nothing.
_MOST_ROUNDS, _PAUSE = 10, 0.1


async def call(session: ClientSession, name: str, arguments: Json, progress: object) -> CallToolResult:
    """The result of a tool; what the server asks goes to the callbacks, and is declined if there is none."""
    responses: InputResponses | None = None
    state: str | None = None
    for _ in range(_MOST_ROUNDS):
        params = CallToolRequestParams(name=name, arguments=arguments, input_responses=responses, request_state=state)
        result = await session.send_request(
            CallToolRequest(params=params),
            _RESULT,
            progress_callback=progress,  # type: ignore[arg-type]  # the caller's type says so
        )
        if isinstance(result, CallToolResult):
            return result
        responses, state = await _answered(session, name, result), result.request_state
    raise McpRefusedError(f"an MCP server asks more than {_MOST_ROUNDS} times before it gives a result")


async def _answered(session: ClientSession, name: str, asked: InputRequiredResult) -> InputResponses | None:
    if not asked.input_requests:
        await asyncio.sleep(_PAUSE)
        return None
    responses: InputResponses = {}
    for key, request in asked.input_requests.items():
        context = ClientRequestContext(session=session, request_id=key)
        answer = await session.dispatch_input_request(context, request)
        if isinstance(answer, ErrorData):
            raise McpRefusedError(
                f"the tool {one_line(name, 80)!r} asks for what this client declines to give "
                f"({one_line(request.method, 80)}): {one_line(answer.message)}"
            )
        responses[key] = answer
    return responses
