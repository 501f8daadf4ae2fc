"""BasePlugin: a plugin with lifecycle hooks, given to a Runner or an App, or installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from newel_kernel import Json
from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel import types as types
    from newel.agents.base_agent import BaseAgent as BaseAgent
    from newel.agents.invocation_context import InvocationContext as InvocationContext
    from newel.contexts.context import CallbackContext as CallbackContext
    from newel.contexts.context import Context as Context
    from newel.contexts.context import ToolContext as ToolContext
    from newel_kernel import BaseTool as BaseTool
    from newel_kernel import Event as Event
    from newel_kernel import LlmRequest as LlmRequest
    from newel_kernel import LlmResponse as LlmResponse
    from newel_types import Content

#: Plugins that were written for google-adk import these names from here: each is in the signature of a hook.
_WHERE = {
    "BaseAgent": "newel.agents.base_agent",
    "BaseTool": "newel_kernel",
    "CallbackContext": "newel.contexts.context",
    "Context": "newel.contexts.context",
    "Event": "newel_kernel",
    "InvocationContext": "newel.agents.invocation_context",
    "LlmRequest": "newel_kernel",
    "LlmResponse": "newel_kernel",
    "ToolContext": "newel.contexts.context",
    "types": "newel.types:",
}
__getattr__, _ = lazy_exports(__name__, _WHERE)

Method = TypeVar("Method")


def default(method: Method) -> Method:
    """Mark a hook that does nothing: the host leaves it out, so a hook that no plugin overrides costs nothing."""
    method.is_default = True  # type: ignore[attr-defined]
    return method


class BasePlugin:
    """Subclass it and override hooks; `newel_kernel.lifecycle_hookspecs` says when each runs and what to return."""

    #: Tells the host to take the methods of this class for hooks without a marker.
    __newel_implements_hooks__: ClassVar[bool] = True

    def __init__(self, name: str) -> None:
        self.name = name

    @default
    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: Content
    ) -> Content | None:
        """Before the user's message is stored."""
        return None

    @default
    async def before_run_callback(self, *, invocation_context: InvocationContext) -> Content | None:
        """Before the agent runs."""
        return None

    @default
    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        """Before an event is stored and yielded."""
        return None

    @default
    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: BaseException) -> None:
        """The invocation failed."""

    @default
    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """The invocation is over."""

    @default
    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> Content | None:
        """Before an agent runs."""
        return None

    @default
    async def after_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> Content | None:
        """After an agent ran."""
        return None

    @default
    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> LlmResponse | None:
        """Before a model call."""
        return None

    @default
    async def after_model_callback(self, *, callback_context: Context, llm_response: LlmResponse) -> LlmResponse | None:
        """After a model response."""
        return None

    @default
    async def on_model_error_callback(
        self, *, callback_context: Context, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """A model call raised."""
        return None

    @default
    async def before_tool_callback(self, *, tool: BaseTool, tool_args: Json, tool_context: Context) -> Json | None:
        """Before a tool runs."""
        return None

    @default
    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: Json, tool_context: Context, result: Json
    ) -> Json | None:
        """After a tool ran."""
        return None

    @default
    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: Json, tool_context: Context, error: Exception
    ) -> Json | None:
        """A tool raised."""
        return None

    async def close(self) -> None:
        """The runner closes."""
