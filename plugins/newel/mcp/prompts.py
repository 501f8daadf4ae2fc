"""McpInstructionProvider: an agent's instruction from a prompt of an MCP server."""

from __future__ import annotations

from typing import TextIO

from newel.mcp import client
from newel.mcp.errors import McpRefusedError
from newel.mcp.sessions import MCPSessionManager
from newel.mcp.settings import settings_of
from newel.mcp.texts import one_line
from newel_kernel import Json, ReadonlyContext, did_you_mean

#: The most characters of an instruction.
MOST = 200_000


class McpInstructionProvider:
    """``LlmAgent(instruction=McpInstructionProvider(...))``: the prompt's texts; its arguments come from the state.

    Whoever names a prompt as an instruction trusts the server with it: the text is not marked as foreign.
    """

    def __init__(self, connection_params: object, prompt_name: str, errlog: TextIO | None = None) -> None:
        self.prompt_name = prompt_name
        self._manager = MCPSessionManager(connection_params, errlog)

    async def __call__(self, context: ReadonlyContext) -> str:
        """The instruction."""
        async with self._manager.lease(settings=settings_of(context)) as connection:
            about = self._found(await client.prompts(connection))
            names = [str(one["name"]) for one in about.get("arguments") or ()]
            arguments = {name: str(context.state[name]) for name in names if name in context.state}
            messages = await client.prompt(connection, self.prompt_name, arguments)
        texts = [str(one["content"].get("text") or "") for one in messages if isinstance(one.get("content"), dict)]
        text = "\n".join(text for text in texts if text)
        if not text:
            raise McpRefusedError(f"the prompt {self.prompt_name!r} of {self._manager.server} has no text")
        return text[:MOST]

    async def close(self) -> None:
        """End the sessions with the server."""
        await self._manager.close()

    def _found(self, prompts: list[Json]) -> Json:
        for one in prompts:
            if one["name"] == self.prompt_name:
                return one
        names = [str(one["name"]) for one in prompts]
        raise McpRefusedError(
            f"the MCP server {self._manager.server} has no prompt {self.prompt_name!r}"
            f"{did_you_mean(self.prompt_name, names)} ({one_line(', '.join(names)) or 'it has none'})"
        )
