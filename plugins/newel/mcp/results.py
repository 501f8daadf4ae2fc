"""Results: what a server's tool gave, as the model gets it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from newel.contexts.context import Context
from newel.mcp.texts import cleaned, one_line
from newel_kernel import Json, seam
from newel_types import Blob, Part

#: The most characters of a result's texts; `tool_results` bounds them further, or keeps them as an artifact.
MOST = 200_000
#: What the names of the artifacts begin with that a result has become.
FOLDER = "mcp/"
_UNKEPT = "it is not shown: this agent's runner has no artifact service"


async def as_response(result: Json, context: Context, tool: str, *, whole: bool) -> Json:
    """The response for the model; data becomes artifacts. `result` is the server's own, as JSON."""
    blocks = [await _block(one, context, tool) for one in result.get("content") or ()]
    structured = result.get("structuredContent")
    if result.get("isError"):
        texts = [block["text"] for block in blocks if block.get("type") == "text"]
        error: Json = {"error": cleaned("\n".join(texts), MOST) or "the tool failed and gave no reason"}
        return {**error, **_without_texts(blocks)}
    if whole:
        response = {"content": blocks, "isError": False}
        return response if structured is None else {**response, "structuredContent": structured}
    if isinstance(structured, dict):
        return {**structured, **_without_texts(blocks)} if "content" not in structured else structured
    return {"content": blocks}


def _without_texts(blocks: list[Json]) -> Json:
    """All of a result but its texts, which structured content repeats."""
    others = [block for block in blocks if block.get("type") != "text"]
    return {"content": others} if others else {}


async def _block(block: Mapping[str, Any], context: Context, tool: str) -> Json:
    kind = block.get("type")
    if kind == "text":
        return {"type": "text", "text": str(block.get("text", ""))[: MOST * 2]}
    if kind in ("image", "audio"):
        return await _data(str(kind), block.get("data"), block.get("mimeType"), context, tool)
    if kind == "resource_link":
        return {key: value for key, value in block.items() if key not in ("_meta", "icons", "annotations")}
    if kind == "resource":
        resource = block.get("resource") or {}
        about = {"type": "resource", "uri": resource.get("uri"), "mimeType": resource.get("mimeType")}
        if "blob" in resource:
            return {**about, **await _data("resource", resource["blob"], resource.get("mimeType"), context, tool)}
        return {**about, "text": str(resource.get("text", ""))[: MOST * 2]}
    return {"type": one_line(str(kind), 40), "note": "a kind of content that is not known here"}


async def _data(kind: str, data: object, mime_type: object, context: Context, tool: str) -> Json:
    """A note of data, which becomes an artifact: as text a model can do nothing with it."""
    mime = one_line(str(mime_type or "application/octet-stream"), 100)
    try:
        whole = base64.b64decode(str(data), validate=True)
    except (binascii.Error, ValueError):
        return {"type": kind, "mimeType": mime, "note": "its data is not base64"}
    about: Json = {"type": kind, "mimeType": mime, "bytes": len(whole)}
    if getattr(context.get_invocation_context(), "artifact_service", None) is None:
        return {**about, "note": _UNKEPT}
    suffix = re.sub("[^a-z0-9]+", "", mime.partition("/")[2].partition("+")[0].lower())[:10] or "bin"
    name = f"{FOLDER}{re.sub('[^A-Za-z0-9_-]+', '_', tool)[:60]}-{seam.new_id()}.{suffix}"
    await context.save_artifact(name, Part(inline_data=Blob(data=whole, mime_type=mime)), {"tool": tool})
    return {**about, "artifact": name}
