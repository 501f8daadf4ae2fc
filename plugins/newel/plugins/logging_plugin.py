"""LoggingPlugin: prints what happens in a run, for a person at a terminal."""

from __future__ import annotations

from newel.events.text import shortened
from newel.plugins.base_plugin import BasePlugin
from newel_kernel import BaseAgent, BaseTool, Context, Event, InvocationContext, Json, LlmRequest, LlmResponse
from newel_types import Content

_MOST = 200


class LoggingPlugin(BasePlugin):
    """Prints a line for every step: messages, agents, model calls, tool calls, events and errors."""

    def __init__(self, name: str = "logging_plugin") -> None:
        super().__init__(name)

    async def on_user_message_callback(self, *, invocation_context: InvocationContext, user_message: Content) -> None:
        """Print the message."""
        session = invocation_context.session
        self._log(f"message from {session.user_id} in {session.app_name}/{session.id}: {_summary(user_message)}")

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Print who starts."""
        self._log(f"invocation {invocation_context.invocation_id} starts with {invocation_context.agent.name}")

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> None:
        """Print the event."""
        kind = "partial event" if event.partial else "event"
        waiting = f", waits for {sorted(event.long_running_tool_ids)}" if event.long_running_tool_ids else ""
        final = ", final" if event.is_final_response() else ""
        self._log(f"{kind} {event.id} of {event.author}: {_summary(event.content)}{waiting}{final}")

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: BaseException) -> None:
        """Print what ended the run."""
        self._log(f"invocation {invocation_context.invocation_id} failed: {_error(error)}")

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Print the end."""
        self._log(f"invocation {invocation_context.invocation_id} is over")

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> None:
        """Print that the agent starts."""
        branch = f" on branch {callback_context.branch}" if callback_context.branch else ""
        self._log(f"agent {agent.name} starts{branch}")

    async def after_agent_callback(self, *, agent: BaseAgent, callback_context: Context) -> None:
        """Print that the agent ended."""
        self._log(f"agent {agent.name} ended")

    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> None:
        """Print the request."""
        tools = ", ".join(llm_request.tools_dict) or "none"
        instruction = shortened(llm_request.config.system_instruction or "none", _MOST)
        self._log(
            f"{callback_context.agent_name} asks {llm_request.model or 'its model'}: {len(llm_request.contents)} "
            f"contents, tools: {tools}, instruction: {instruction}"
        )

    async def after_model_callback(self, *, callback_context: Context, llm_response: LlmResponse) -> None:
        """Print the response."""
        usage = llm_response.usage_metadata
        tokens = "" if usage is None else f" ({usage.prompt_token_count} tokens in, {usage.candidates_token_count} out)"
        text = _summary(llm_response.content)
        if llm_response.error_code:
            text = f"error {llm_response.error_code}: {llm_response.error_message}"
        self._log(f"the model {'says, in part' if llm_response.partial else 'says'}: {text}{tokens}")

    async def on_model_error_callback(
        self, *, callback_context: Context, llm_request: LlmRequest, error: Exception
    ) -> None:
        """Print the error."""
        self._log(f"the model of {callback_context.agent_name} failed: {_error(error)}")

    async def before_tool_callback(self, *, tool: BaseTool, tool_args: Json, tool_context: Context) -> None:
        """Print the call."""
        call = f"{tool.name}({shortened(tool_args, _MOST)})"
        self._log(f"{tool_context.agent_name} calls {call}, id {tool_context.function_call_id}")

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: Json, tool_context: Context, result: object
    ) -> None:
        """Print the result."""
        self._log(f"{tool.name} returned {shortened(result, _MOST)}")

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: Json, tool_context: Context, error: Exception
    ) -> None:
        """Print the error."""
        self._log(f"{tool.name} failed: {_error(error)}")

    def _log(self, message: str) -> None:
        print(f"[{self.name}] {message}")


def _summary(content: Content | None) -> str:
    items: list[str] = []
    for part in (content.parts or ()) if content is not None else ():
        if part.text:
            said = repr(shortened(part.text, _MOST))
            items.append(f"thought {said}" if part.thought else said)
        elif part.function_call is not None:
            items.append(f"call of {part.function_call.name}")
        elif part.function_response is not None:
            items.append(f"result of {part.function_response.name}")
        elif part.executable_code is not None or part.code_execution_result is not None:
            items.append("code")
        else:
            items.append("data")
    return ", ".join(items) or "nothing"


def _error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
