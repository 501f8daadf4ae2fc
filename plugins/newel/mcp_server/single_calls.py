"""Single calls: an agent whose turn is the one tool call that its message names, under all policies of a turn."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator

from newel.agents import LlmAgent
from newel.models.contract import BaseLlm
from newel.policies.plain_data import clean_text
from newel_compose import describe_error
from newel_kernel import (
    BaseAgent,
    BaseTool,
    ConfigurationError,
    Context,
    FencedError,
    Json,
    LlmRequest,
    LlmResponse,
    UnknownTool,
    hookimpl,
    seam,
)
from newel_types import Content, FunctionCall, Part

_DONE = "done"
_log = logging.getLogger(__name__)


class HiddenErrors:
    """A plugin: what a tool raises stays in the log; the client gets a reference into it."""

    @hookimpl(trylast=True)  # after the hooks that handle an error, before the policy that tells a model all of it
    def on_tool_error_callback(
        self, tool: BaseTool, tool_args: Json, tool_context: Context, error: Exception
    ) -> Json | None:
        """The reference as a result."""
        if isinstance(tool, UnknownTool) or isinstance(error, FencedError):
            return None
        ref = reference()
        _log.error("the tool %r failed (ref %s): %s", tool.name, ref, clean_text(describe_error(error)))
        return {"error": f"{tool.name} failed (ref {ref}); the server's log says why"}


def reference() -> str:
    """A name for an entry of the log."""
    return seam.new_id().replace("-", "")[:12]


class CallModel(BaseLlm):
    """Calls the tool that the message names, and ends."""

    model: str = "mcp-single-call"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The call, or the end once it has a result."""
        last = (llm_request.contents[-1].parts or [Part()])[-1]
        part = Part(text=_DONE)
        if last.text is not None:
            call = json.loads(last.text)
            part = Part(function_call=FunctionCall(name=call["tool"], args=call["args"]))
        yield LlmResponse(content=Content(role="model", parts=[part]))


def message(tool: str, args: Json) -> Content:
    """The message that has `tool` called."""
    return Content(role="user", parts=[Part(text=json.dumps({"tool": tool, "args": args}))])


def caller_of(agent: BaseAgent) -> LlmAgent:
    """`agent` with its tools and the callbacks around them, and nothing else of a turn."""
    if not isinstance(agent, LlmAgent):
        raise ConfigurationError(
            f"the agent {agent.name!r} is a {type(agent).__name__}, which has no tools: leave out tools= to serve the "
            f"agent itself"
        )
    without = dict.fromkeys(
        (
            "input_schema",
            "output_schema",
            "output_key",
            "planner",
            "code_executor",
            "generate_content_config",
            "static_instruction",
            "before_agent_callback",
            "after_agent_callback",
            "before_model_callback",
            "after_model_callback",
            "on_model_error_callback",
            "mode",
        )
    )
    return agent.clone({**without, "model": CallModel(), "sub_agents": [], "instruction": "", "global_instruction": ""})
