"""Results: what an agent or a tool returned, as the content of an MCP result."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from typing import TypeAlias
from urllib.parse import quote

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from newel_kernel import Event, Json
from newel_types import FunctionResponsePart, Part, as_plain

#: Names and contents.
Artifacts: TypeAlias = Sequence[tuple[str, Part]]
#: The most bytes of an artifact that is sent along.
_MOST_BYTES = 10_000_000


def answered(answer: object, last: Event | None, session_id: str | None, artifacts: Artifacts = ()) -> CallToolResult:
    """The result of an agent's run that ended with `answer`; `session_id` continues the conversation."""
    blocks: list[ContentBlock] = [TextContent(text=answer if isinstance(answer, str) else _json(answer))]
    if last is not None and last.content is not None:
        blocks += media(last.content.parts or ())
    blocks += _saved(artifacts)
    structured: Json = {"answer": as_plain(answer)}
    if session_id is not None:
        blocks.append(TextContent(text=f"To go on with this conversation, pass session: {session_id}"))
        structured["session"] = session_id
    return CallToolResult(content=blocks, structured_content=structured)


def returned(
    response: Json, parts: Iterable[Part | FunctionResponsePart] = (), artifacts: Artifacts = ()
) -> CallToolResult:
    """The result of a tool's call, whose function response is `response`."""
    value = response.get("result") if response.keys() == {"result"} else response
    text = value if isinstance(value, str) else _json(value)
    return CallToolResult(
        content=[TextContent(text=text), *media(parts), *_saved(artifacts)],
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
            blocks.append(_block(data, kind, f"newel:part/{number}"))
        elif part.file_data is not None and part.file_data.file_uri:
            uri = part.file_data.file_uri
            blocks.append(ResourceLink(name=uri.rpartition("/")[2] or uri, uri=uri, mime_type=part.file_data.mime_type))
    return blocks


def _saved(artifacts: Artifacts) -> list[ContentBlock]:
    """Artifacts as blocks; one that is too large for a message is named alone."""
    blocks: list[ContentBlock] = []
    for name, part in artifacts:
        uri = f"artifact:{quote(name)}"
        data = part.inline_data.data if part.inline_data is not None else None
        kind = (part.inline_data.mime_type if part.inline_data is not None else None) or "application/octet-stream"
        if part.text is not None:
            contents = TextResourceContents(uri=uri, text=part.text, mime_type="text/plain")
            blocks.append(EmbeddedResource(resource=contents))
        elif data is not None and len(data) <= _MOST_BYTES:
            blocks.append(_block(base64.b64encode(data).decode(), kind, uri))
        else:
            size = f" of {len(data)} bytes" if data is not None else ""
            blocks.append(TextContent(text=f"The artifact {name}{size} was saved."))
    return blocks


def _block(data: str, kind: str, uri: str) -> ContentBlock:
    if kind.startswith("image/"):
        return ImageContent(data=data, mime_type=kind)
    if kind.startswith("audio/"):
        return AudioContent(data=data, mime_type=kind)
    contents = BlobResourceContents(uri=uri, blob=data, mime_type=kind)
    return EmbeddedResource(resource=contents)


def _json(value: object) -> str:
    return json.dumps(as_plain(value), ensure_ascii=False)
