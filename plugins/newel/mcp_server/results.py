"""Results: what an agent or a tool returned, as the content of an MCP result."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)

from newel_kernel import Event, Json
from newel_types import FunctionResponsePart, Part, as_plain


def answered(answer: object, last: Event | None, session_id: str | None) -> CallToolResult:
    """The result of an agent's run that ended with `answer`; `session_id` continues the conversation."""
    blocks: list[ContentBlock] = [TextContent(text=answer if isinstance(answer, str) else _json(answer))]
    if last is not None and last.content is not None:
        blocks += media(last.content.parts or ())
    structured: Json = {"answer": as_plain(answer)}
    if session_id is not None:
        blocks.append(TextContent(text=f"To go on with this conversation, pass session: {session_id}"))
        structured["session"] = session_id
    return CallToolResult(content=blocks, structured_content=structured)


def returned(response: Json, parts: Iterable[Part | FunctionResponsePart] = ()) -> CallToolResult:
    """The result of a tool's call, whose function response is `response`."""
    value = response.get("result") if response.keys() == {"result"} else response
    text = value if isinstance(value, str) else _json(value)
    return CallToolResult(
        content=[TextContent(text=text), *media(parts)],
        structured_content=as_plain(response),
        is_error="error" in response and response["error"] is not None,
    )


def failed(text: str) -> CallToolResult:
    """An error result."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def media(parts: Iterable[Part | FunctionResponsePart]) -> list[ContentBlock]:
    """Pictures, sound, files and links among `parts`."""
    blocks: list[ContentBlock] = []
    for number, part in enumerate(parts):
        if isinstance(part, Part) and part.thought:
            continue
        if part.inline_data is not None and part.inline_data.data is not None:
            kind = part.inline_data.mime_type or "application/octet-stream"
            data = base64.b64encode(part.inline_data.data).decode()
            blocks.append(_block(data, kind, number))
        elif part.file_data is not None and part.file_data.file_uri:
            uri = part.file_data.file_uri
            blocks.append(ResourceLink(name=uri.rpartition("/")[2] or uri, uri=uri, mime_type=part.file_data.mime_type))
    return blocks


def _block(data: str, kind: str, number: int) -> ContentBlock:
    if kind.startswith("image/"):
        return ImageContent(data=data, mime_type=kind)
    if kind.startswith("audio/"):
        return AudioContent(data=data, mime_type=kind)
    contents = BlobResourceContents(uri=f"newel:part/{number}", blob=data, mime_type=kind)
    return EmbeddedResource(resource=contents)


def _json(value: object) -> str:
    plain = as_plain(value)
    return json.dumps(plain if not isinstance(plain, Mapping) else dict(plain), ensure_ascii=False)
