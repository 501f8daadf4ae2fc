"""The tool with which a model searches what is remembered of the user's earlier sessions."""

from __future__ import annotations

from pydantic import BaseModel, Field, field_serializer

from newel.contexts.context import full
from newel.tools.function_tool import FunctionTool
from newel_kernel import Context, Effect, LlmRequest, ToolContext

#: Fields that a ranking store adds to an entry for the program.
_NOT_FOR_MODELS = {"score", "snippet", "session_id", "event_id"}
_INSTRUCTION = (
    "You have a memory of earlier conversations with the user. If a question may depend on them, call "
    "load_memory with words to search for before you answer."
)


class LoadMemoryResponse(BaseModel):
    """The entries that were found."""

    memories: list[object] = Field(default_factory=list)

    @field_serializer("memories")
    def _without_empty_fields(self, memories: list[object]) -> list[object]:
        """Without the fields that an entry does not have: a model pays for each."""
        return [
            m.model_dump(mode="json", exclude_none=True, exclude=_NOT_FOR_MODELS) if hasattr(m, "model_dump") else m
            for m in memories
        ]


async def load_memory(query: str, tool_context: ToolContext) -> LoadMemoryResponse:
    """Search the memory of earlier conversations with this user.

    Args:
        query: what to search for.
    """
    response = await full(tool_context).search_memory(query)
    return LoadMemoryResponse(memories=response.memories)


class LoadMemoryTool(FunctionTool):
    """`load_memory`, and the instruction to use it."""

    telemetry_type = "datastore"

    def __init__(self) -> None:
        super().__init__(load_memory, effect=Effect.PURE)

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Declare the tool and say when to call it."""
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        llm_request.append_instructions([_INSTRUCTION])


load_memory_tool = LoadMemoryTool()
