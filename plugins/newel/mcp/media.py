"""Media: pictures, sounds and documents among results, shown to the model with the next request."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from newel.contexts.context import Context
from newel.mcp.results import FOLDER
from newel_kernel import Json, LlmRequest
from newel_types import Content, Part

_log = logging.getLogger("newel.mcp")
#: What models take as data.
_TYPES = ("image/", "audio/", "video/", "application/pdf")
#: The most that one request shows, and its most bytes.
_MOST, _MOST_BYTES = 8, 8_000_000


async def show(request: LlmRequest, context: Context) -> None:
    """Add the artifacts that the last results have become; the session keeps their names only."""
    last = request.contents[-1] if request.contents else None
    responses = [part.function_response for part in (last.parts or ()) if part.function_response] if last else []
    room = _MOST_BYTES
    for name, size in [one for response in responses for one in _named(response.response or {})][:_MOST]:
        if size > room or (artifact := await _loaded(context, name)) is None:
            continue
        room -= size
        request.contents.append(Content(role="user", parts=[Part(text=f"The artifact {name}:"), artifact]))


def _named(response: Json) -> Iterator[tuple[str, int]]:
    """The names and sizes of the artifacts in a response that models take as data."""
    blocks = response.get("content")
    for block in blocks if isinstance(blocks, list) else ():
        name = block.get("artifact") if isinstance(block, dict) else None
        if isinstance(name, str) and name.startswith(FOLDER) and str(block.get("mimeType")).startswith(_TYPES):
            yield name, int(block.get("bytes") or 0)


async def _loaded(context: Context, name: str) -> Part | None:
    try:
        return await context.load_artifact(name)
    except Exception as error:  # noqa: BLE001 - a plugin boundary: any store; the run goes on without the picture
        _log.warning("newel: the artifact %r cannot be shown: %s", name, error)
        return None
