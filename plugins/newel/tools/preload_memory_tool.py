"""PreloadMemoryTool: what the memory has on the user's message, in the instruction before the model is asked."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from newel.contexts.context import full
from newel_kernel import BaseTool, Context, LlmRequest

if TYPE_CHECKING:
    from newel.memory.memory_entry import MemoryEntry

_log = logging.getLogger(__name__)

_INSTRUCTION = """\
This is what earlier conversations with the user say about the message. Use it if it helps.
<PAST_CONVERSATIONS>
{entries}
</PAST_CONVERSATIONS>"""


class PreloadMemoryTool(BaseTool):
    """Searches the memory for the user's message on every request. It declares nothing: the model cannot call it."""

    def __init__(self) -> None:
        super().__init__(
            name="preload_memory", description="Adds memories of earlier conversations to the system instruction."
        )

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Append what is found; a memory that fails does not stop the agent."""
        parts = tool_context.user_content.parts if tool_context.user_content is not None else None
        query = parts[0].text if parts else None
        if not query:
            return
        try:
            response = await full(tool_context).search_memory(query)
        except Exception:  # noqa: BLE001 - a memory service of a plugin; whatever it raises
            _log.warning("searching the memory failed; the agent continues without it", exc_info=True)
            return
        entries = [entry for memory in response.memories if (entry := _entry(memory))]
        if entries:
            llm_request.append_instructions([_INSTRUCTION.format(entries="\n".join(entries))])


def _entry(memory: MemoryEntry) -> str:
    """The text of a memory with its author and time; empty if it has no text."""
    parts = memory.content.parts if memory.content is not None else None
    text = " ".join(part.text for part in parts or () if part.text and not part.thought)
    if not text:
        return ""
    line = f"{memory.author}: {text}" if memory.author else text
    return f"Time: {memory.timestamp}\n{line}" if memory.timestamp else line


preload_memory_tool = PreloadMemoryTool()
