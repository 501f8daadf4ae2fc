"""Resources: the files and records that a server offers, by name."""

from __future__ import annotations

import base64
import binascii
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from newel.mcp import client
from newel.mcp.errors import McpError, McpRefusedError
from newel.mcp.texts import fenced, one_line
from newel_kernel import BaseTool, Context, Effect, Json, LlmRequest, ReadonlyContext, did_you_mean
from newel_types import Blob, Content, FunctionDeclaration, Part

if TYPE_CHECKING:
    from newel.mcp.client import Connection

#: The most characters, and the most bytes, of what one resource shows.
MOST_CHARACTERS, MOST_BYTES = 200_000, 8_000_000
#: The most names in an instruction, and the most resources of one call.
_MOST_NAMES, _MOST_AT_ONCE = 100, 8
_NAME = "load_mcp_resource"
_TEXTS = ("text/", "application/json", "application/xml")
_STATUS = "The resources are shown to you once, in the next message, and are gone after it."


class Resources:
    """The resources of a toolset's server."""

    @abstractmethod
    async def _connected(self, context: ReadonlyContext | None, work: Callable[[Connection], Awaitable[Any]]) -> Any:
        """The result of `work` in the session of who calls."""

    async def list_resources(self, readonly_context: ReadonlyContext | None = None) -> list[str]:
        """The names of the server's resources."""
        return [str(one["name"]) for one in await self._resources(readonly_context)]

    async def get_resource_info(self, name: str, readonly_context: ReadonlyContext | None = None) -> Json:
        """What the server says about a resource; raises McpRefusedError if it has none of that name."""
        resources = await self._resources(readonly_context)
        for one in resources:
            if one["name"] == name:
                return one
        names = [str(one["name"]) for one in resources]
        raise McpRefusedError(f"the server has no resource {one_line(name)!r}{did_you_mean(name, names)}")

    async def read_resource(self, name: str, readonly_context: ReadonlyContext | None = None) -> list[Json]:
        """The contents of a resource: each has a `uri`, a `mimeType`, and a `text` or a `blob` (base64)."""
        uri = str((await self.get_resource_info(name, readonly_context))["uri"])
        contents: list[Json] = await self._connected(readonly_context, lambda connection: client.read(connection, uri))
        return contents

    async def _resources(self, context: ReadonlyContext | None) -> list[Json]:
        found: list[Json] = await self._connected(context, client.resources)
        return found


class LoadMcpResourceTool(BaseTool):
    """Names a server's resources in the instruction; those asked for go into the next request only."""

    effect = Effect.PURE

    def __init__(self, mcp_toolset: Resources) -> None:
        super().__init__(
            name=_NAME, description="Loads resources of an MCP server by their names, so you can read them."
        )
        self._toolset = mcp_toolset

    def _get_declaration(self) -> FunctionDeclaration:
        names = {"type": "array", "items": {"type": "string"}}
        return FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema={"type": "object", "properties": {"resource_names": names}},
        )

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """The names, from which the next request takes the contents: they are not stored in the session."""
        return {"resource_names": args.get("resource_names", []), "status": _STATUS}

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Declare the tool, name the resources, and add the contents that the last call asked for."""
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        try:
            names = await self._toolset.list_resources(tool_context)
        except McpError:  # the server is told of elsewhere
            return
        if not names:
            return
        listed = fenced("\n".join(one_line(name) for name in names[:_MOST_NAMES]), "resources", "list of names")
        llm_request.append_instructions([f"`{self.name}` loads the resources with these names:\n{listed}"])
        for name in self._wanted(llm_request)[:_MOST_AT_ONCE]:
            llm_request.contents.append(Content(role="user", parts=await self._parts(name, tool_context)))

    def _wanted(self, request: LlmRequest) -> list[str]:
        last = request.contents[-1] if request.contents else None
        names: list[str] = []
        for part in (last.parts or ()) if last is not None else ():
            if (result := part.function_response) is not None and result.name == self.name:
                listed = (result.response or {}).get("resource_names")
                names += [one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, str)]
        return list(dict.fromkeys(names))

    async def _parts(self, name: str, context: Context) -> list[Part]:
        words = Part(text=f"The resource {one_line(name)}:")
        try:
            contents = await self._toolset.read_resource(name, context)
        except McpError as error:
            return [words, Part(text=f"It cannot be read: {error}")]
        room = MOST_CHARACTERS
        parts = [words]
        for content in contents:
            part = _part(content, room)
            room -= len(part.text or "")
            parts.append(part)
        return parts


def _part(content: Mapping[str, Any], room: int) -> Part:
    """A content as a model takes it, in at most `room` characters."""
    mime = str(content.get("mimeType") or "application/octet-stream")
    if "text" in content:
        text = str(content["text"])
        note = "" if len(text) <= room else f"… ({len(text) - max(room, 0)} more characters were left out)"
        return Part(text=text[: max(room, 0)] + note)
    try:
        data = base64.b64decode(str(content.get("blob", "")), validate=True)
    except (binascii.Error, ValueError):
        return Part(text=f"[{one_line(mime, 80)}: its data is not base64]")
    if mime.startswith(_TEXTS):
        return _part({"mimeType": mime, "text": data.decode("utf-8", "replace")}, room)
    if len(data) > MOST_BYTES:
        return Part(text=f"[{one_line(mime, 80)}: {len(data):,} bytes, too many to be shown]")
    return Part(inline_data=Blob(data=data, mime_type=mime))
