"""Kept results: a tool's result that is too large for an event becomes an artifact, and a reference takes its place."""

from __future__ import annotations

import json
import logging
import re

from newel.contexts.context import full
from newel.policies.plain_data import text_of
from newel_kernel import BaseTool, Context, Json, seam
from newel_types import Blob, Part

_log = logging.getLogger("newel.tools")
_NOTE = (
    "The result is too large to be shown: it is an artifact, and `preview` is a part of it. To read all of it, call "
    "read_result or load_artifacts with the artifact's name, whichever you have; else ask for less at once."
)
#: The keys of a reference, next to its preview.
_KEYS = frozenset({"artifact", "version", "mime_type", "bytes", "note"})


def reference_in(response: Json | None) -> Json | None:
    """The result itself, if it is a reference to an artifact."""
    return response if response is not None and "artifact" in response and response.keys() >= _KEYS else None


async def keep(tool: BaseTool, data: object, context: Context) -> Json | None:
    """The reference to an artifact with `data`, plain data; None if it cannot be kept, which is logged.

    Without an artifact service there is nothing to log.
    """
    if getattr(context.get_invocation_context(), "artifact_service", None) is None:
        return None
    text, mime_type, suffix = (
        (data, "text/plain", "txt")
        if isinstance(data, str)
        else (json.dumps(data, ensure_ascii=False), "application/json", "json")
    )
    name = f"tool_results/{re.sub('[^A-Za-z0-9_-]+', '_', tool.name)[:60]}-{seam.new_id()}.{suffix}"
    whole = text.encode()
    try:
        part = Part(inline_data=Blob(data=whole, mime_type=mime_type))
        version = await full(context).save_artifact(name, part, {"tool": tool.name})
    except Exception as error:  # noqa: BLE001 - a plugin boundary: any store; a result is cut rather than lost
        _log.warning(
            "newel: the result of the tool %r is cut, because it cannot be kept: %s", tool.name, text_of(error)
        )
        return None
    return {"artifact": name, "version": version, "mime_type": mime_type, "bytes": len(whole), "note": _NOTE}
