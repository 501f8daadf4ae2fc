"""ReflectAndRetryToolPlugin: a failed tool is answered with what went wrong, so that the model tries another way."""

from __future__ import annotations

import json
from enum import Enum
from typing import Any

from pydantic import BaseModel

from newel.plugins.base_plugin import BasePlugin
from newel_kernel import BaseTool, ConfigurationError, Context, InvocationContext, Json

REFLECT_AND_RETRY_RESPONSE_TYPE = "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN"
GLOBAL_SCOPE_KEY = "__global_reflect_and_retry_scope__"

_AGAIN = """The call of `{tool}` failed: {error}
Its arguments were: {args}
This was failure {count}; after {most} in a row, stop using the tool. Do not repeat the same call. Ask yourself whether
an argument is wrong or missing, whether something has to happen first, whether another tool or smaller steps would do,
and whether the tool exists at all; then try again in another way."""
_NO_MORE = """The call of `{tool}` failed: {error}
Its arguments were: {args}
It has failed {most} times in a row. Do not call `{tool}` again for this task: find another way, or tell the user that
it cannot be done."""


class TrackingScope(Enum):
    """The scope over which failures are counted."""

    INVOCATION = "invocation"
    GLOBAL = "global"


class ToolFailureResponse(BaseModel):
    """The result that the model gets in place of the tool's."""

    response_type: str = REFLECT_AND_RETRY_RESPONSE_TYPE
    error_type: str = ""
    error_details: str = ""
    retry_count: int = 0
    reflection_guidance: str = ""


class ReflectAndRetryToolPlugin(BasePlugin):
    """Counts each tool's failures in a row: up to `max_retries` the model gets the error, after that it is raised.

    Without `throw_exception_if_retry_exceeded` the model is told to leave the tool alone instead. Override
    `extract_error_from_result` to find errors in results.
    """

    def __init__(
        self,
        name: str = "reflect_retry_tool_plugin",
        max_retries: int = 3,
        throw_exception_if_retry_exceeded: bool = True,
        tracking_scope: TrackingScope = TrackingScope.INVOCATION,
    ) -> None:
        super().__init__(name)
        if max_retries < 0:
            raise ConfigurationError(f"max_retries must be a non-negative integer, not {max_retries}")
        self.max_retries = max_retries
        self.throw_exception_if_retry_exceeded = throw_exception_if_retry_exceeded
        self.scope = tracking_scope
        #: Scope -> tool name -> failures in a row.
        self._failures: dict[str, dict[str, int]] = {}

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: Json, tool_context: Context, result: object
    ) -> Json | None:
        """Forget the tool's failures, unless its result holds one."""
        if isinstance(result, dict) and result.get("response_type") == REFLECT_AND_RETRY_RESPONSE_TYPE:
            return None
        error = await self.extract_error_from_result(
            tool=tool, tool_args=tool_args, tool_context=tool_context, result=result
        )
        if error:
            return self._answer(tool, tool_args, tool_context, error)
        self._failures.get(self._get_scope_key(tool_context), {}).pop(tool.name, None)
        return None

    async def extract_error_from_result(
        self, *, tool: BaseTool, tool_args: Json, tool_context: Context, result: object
    ) -> Any:
        """The error that a result holds, or None; to be overridden."""
        return None

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: Json, tool_context: Context, error: Exception
    ) -> Json | None:
        """Answer a tool's exception."""
        return self._answer(tool, tool_args, tool_context, error)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Forget what was counted for the invocation."""
        self._failures.pop(invocation_context.invocation_id, None)

    def _get_scope_key(self, tool_context: Context) -> str:
        """The key of the scope in which failures are counted together; may be overridden."""
        return GLOBAL_SCOPE_KEY if self.scope is TrackingScope.GLOBAL else tool_context.invocation_id

    def _answer(self, tool: BaseTool, args: Json, context: Context, error: object) -> Json:
        failures = self._failures.setdefault(self._get_scope_key(context), {})
        failures[tool.name] = count = failures.get(tool.name, 0) + 1
        exceeded = count > self.max_retries
        if exceeded and self.throw_exception_if_retry_exceeded:
            raise error if isinstance(error, Exception) else RuntimeError(str(error))
        text = f"{type(error).__name__}: {error}" if isinstance(error, Exception) else str(error)
        return ToolFailureResponse(
            error_type=type(error).__name__ if isinstance(error, Exception) else "ToolError",
            error_details=str(error),
            retry_count=min(count, self.max_retries),
            reflection_guidance=(_NO_MORE if exceeded else _AGAIN).format(
                tool=tool.name, error=text, args=json.dumps(args, default=str), count=count, most=self.max_retries
            ),
        ).model_dump(mode="json")
