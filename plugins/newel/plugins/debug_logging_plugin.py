"""DebugLoggingPlugin: everything that happens in an invocation, as a YAML document in a file."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from newel.plugins.base_plugin import BasePlugin
from newel_kernel import BaseAgent, BaseTool, Context, Event, InvocationContext, Json, LlmRequest, LlmResponse, seam
from newel_types import Content, Record


class DebugLoggingPlugin(BasePlugin):
    """Appends one document per invocation to `output_path`. It holds messages, arguments and results: keep it safe.

    The bytes of files are left out. A new file is readable for its owner only.
    """

    def __init__(
        self,
        *,
        name: str = "debug_logging_plugin",
        output_path: str | Path = "newel_debug.yaml",
        include_session_state: bool = True,
        include_system_instruction: bool = True,
    ) -> None:
        super().__init__(name)
        self._path = Path(output_path)
        self._with_state = include_session_state
        self._with_instruction = include_system_instruction
        self._entries: dict[str, list[Json]] = {}

    async def on_user_message_callback(self, *, invocation_context: InvocationContext, user_message: Content) -> None:
        """Note the message."""
        self._note(invocation_context.invocation_id, "user_message", content=user_message)

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Note the start."""
        self._note(invocation_context.invocation_id, "invocation_start", agent_name=invocation_context.agent.name)

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        """Note the event."""
        self._note(invocation_context.invocation_id, "event", event=event)

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: BaseException) -> None:
        """Note what ended the invocation."""
        self._note(invocation_context.invocation_id, "invocation_error", **_error(error))

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> None:
        """Note that the agent starts."""
        invocation_id, branch = callback_context.invocation_id, callback_context.branch
        self._note(invocation_id, "agent_start", agent_name=agent.name, branch=branch)

    async def after_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> None:
        """Note that the agent ended."""
        self._note(callback_context.invocation_id, "agent_end", agent_name=agent.name)

    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> None:
        """Note the request."""
        config = {k: v for k, v in _plain(llm_request.config).items() if k not in ("tools", "system_instruction")}
        instruction = llm_request.config.system_instruction
        self._note(
            callback_context.invocation_id,
            "llm_request",
            agent_name=callback_context.agent_name,
            model=llm_request.model,
            contents=list(llm_request.contents),
            config=config,
            tools=list(llm_request.tools_dict),
            system_instruction=instruction if self._with_instruction else None,
        )

    async def after_model_callback(self, *, callback_context: Context, llm_response: LlmResponse) -> None:
        """Note the response."""
        agent_name = callback_context.agent_name
        self._note(callback_context.invocation_id, "llm_response", agent_name=agent_name, response=llm_response)

    async def on_model_error_callback(
        self, *, callback_context: Context, llm_request: LlmRequest, error: Exception
    ) -> None:
        """Note the error."""
        self._note(callback_context.invocation_id, "llm_error", agent_name=callback_context.agent_name, **_error(error))

    async def before_tool_callback(self, *, tool: BaseTool, tool_args: Json, tool_context: Context) -> None:
        """Note the call."""
        self._note_tool("tool_call", tool, tool_context, args=tool_args)

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: Json, tool_context: Context, result: object
    ) -> None:
        """Note the result."""
        self._note_tool("tool_response", tool, tool_context, result=result)

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: Json, tool_context: Context, error: Exception
    ) -> None:
        """Note the error."""
        self._note_tool("tool_error", tool, tool_context, args=tool_args, **_error(error))

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Write the invocation's document."""
        session = invocation_context.session
        if self._with_state:
            self._note(invocation_context.invocation_id, "session_state", state=session.state)
        document = {
            "invocation_id": invocation_context.invocation_id,
            "session_id": session.id,
            "app_name": session.app_name,
            "user_id": session.user_id,
            "entries": self._entries.pop(invocation_context.invocation_id, []),
        }
        text = yaml.safe_dump(document, explicit_start=True, allow_unicode=True, sort_keys=False, width=120)
        await asyncio.to_thread(self._append, text)

    def _note(self, invocation_id: str, kind: str, **data: object) -> None:
        entry = {name: _plain(value) for name, value in data.items() if value is not None}
        at = datetime.fromtimestamp(seam.clock()).isoformat()
        self._entries.setdefault(invocation_id, []).append({"time": at, "type": kind, **entry})

    def _note_tool(self, kind: str, tool: BaseTool, context: Context, **data: object) -> None:
        names = {"agent_name": context.agent_name, "tool": tool.name, "call_id": context.function_call_id}
        self._note(context.invocation_id, kind, **names, **data)

    def _append(self, text: str) -> None:
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.write(text)


def _error(error: BaseException) -> dict[str, str]:
    return {"error_type": type(error).__name__, "error_message": str(error)}


def _plain(value: object) -> Any:
    """`value` as YAML can hold it; bytes are only counted."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, (BaseModel, Record)):
        return _plain(value.model_dump(exclude_none=True))
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one) for one in value]
    if value is None or type(value) in (str, int, float, bool):
        return value
    return str(value)
