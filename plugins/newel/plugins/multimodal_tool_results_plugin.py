"""MultimodalToolResultsPlugin: parts that a tool returns (such as an image) reach the model unchanged."""

from __future__ import annotations

from newel.plugins.base_plugin import BasePlugin
from newel_kernel import BaseTool, Context, InvocationContext, Json, Key, LlmRequest, LlmResponse
from newel_types import Part

#: Agent and branch -> the parts that wait for the next request.
_WAITING = Key[dict[tuple[str, str | None], list[Part]]]("multimodal tool results", dict)


class MultimodalToolResultsPlugin(BasePlugin):
    """A tool that returns a Part or a list of Parts has them appended to the last content of the next request.

    They are sent once, and not stored. No policy that makes plain data of results (`tool_results`) may run before it.
    """

    def __init__(self, name: str = "multimodal_tool_results_plugin") -> None:
        super().__init__(name)

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: Json, tool_context: Context, result: object
    ) -> Json | None:
        """Set the parts of a result aside; the result says how many there are."""
        items = result if isinstance(result, list) else [result]
        parts = [item for item in items if isinstance(item, Part)]
        if not parts or len(parts) < len(items):
            return None
        _waiting(tool_context.get_invocation_context()).extend(part.model_copy(deep=True) for part in parts)
        return {"result": f"{len(parts)} part(s), attached to this message"}

    async def before_model_callback(self, *, callback_context: Context, llm_request: LlmRequest) -> LlmResponse | None:
        """Append what waits to the request."""
        waiting = _waiting(callback_context.get_invocation_context())
        if waiting and llm_request.contents:
            last = llm_request.contents[-1]
            last.parts = [*(last.parts or ()), *waiting]
            waiting.clear()
        return None


def _waiting(ctx: InvocationContext) -> list[Part]:
    return ctx.stash[_WAITING].setdefault((ctx.agent.name, ctx.branch), [])
