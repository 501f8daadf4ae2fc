"""Results: what a server answers, as the result of a tool; an answer of 300 and above is an error result."""

from __future__ import annotations

import json
import mimetypes
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from newel.contexts.context import Context
from newel.net.client import Reply
from newel.openapi.operation import BINARY, JSON, form_of
from newel.openapi.texts import cleaned
from newel.tools.page_text import decoded
from newel_kernel import Effect, Json
from newel_types import Blob, Part

#: The most characters of a body in an error result.
_EXCERPT = 4_000
_TEXTS = ("application/javascript", "application/x-www-form-urlencoded", "application/graphql")


async def result_of(reply: Reply, place: str, tool_name: str, effect: Effect, context: Context | None) -> object:
    """The result of a call, from the answer to it."""
    if reply.status >= 300:
        return _error(reply, place, effect)
    if not reply.body:
        return {"status": reply.status}
    kind = form_of(reply.content_type or "application/json")
    if kind == BINARY and reply.content_type not in _TEXTS:
        return await _kept(reply, tool_name, context)
    text = decoded(reply.body, reply.headers.get("content-type", ""))
    if reply.truncated:
        note = f"the answer is longer than {len(reply.body)} bytes; ask for less of it"
        return {"text": text, "truncated": True, "note": note}
    if kind == JSON:
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            return {"text": text}
        return value if isinstance(value, dict) else {"result": value}
    return {"text": text}


def _error(reply: Reply, place: str, effect: Effect) -> Json:
    try:
        reason = f"{reply.status} {HTTPStatus(reply.status).phrase}"
    except ValueError:
        reason = str(reply.status)
    error = f"{place} answered {reason}"
    if reply.status < 400 and (location := reply.headers.get("location")):
        error += f": it leads to {_origin(location)}, which is not among the document's servers (see `allow_origins`)"
    result: Json = {"error": error, "status": reply.status}
    if reply.body and form_of(reply.content_type or "application/json") != BINARY:
        result["body"] = _excerpt(reply)
    seconds = _seconds(reply.headers)
    if effect is Effect.AT_MOST_ONCE:
        if reply.status >= 500:
            result["error"] += "; whether it has taken effect is unknown: do not call it again without asking"
    elif seconds is not None:
        result["retry_after"] = seconds
        result["error"] += f"; it may be called again in {seconds} seconds"
    return result


def _origin(location: str) -> str:
    scheme, separator, rest = location.partition("://")
    return cleaned(f"{scheme}://{rest.split('/')[0].split('?')[0].rpartition('@')[2]}" if separator else "a path", 200)


def _excerpt(reply: Reply) -> Any:
    text = decoded(reply.body, reply.headers.get("content-type", ""))
    if len(text) <= _EXCERPT:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return f"{text[:_EXCERPT]}… ({len(text) - _EXCERPT} more characters were left out)"


def _seconds(headers: Mapping[str, str]) -> int | None:
    """The seconds of Retry-After, at most a day; None if it says none."""
    value = headers.get("retry-after", "").strip()
    if value.isdecimal() and len(value) < 10:
        return min(int(value), 86_400)
    try:
        until = parsedate_to_datetime(value).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(int(until), 0), 86_400)


async def _kept(reply: Reply, tool_name: str, context: Context | None) -> Json:
    """A picture or another file: stored as an artifact, which the result names."""
    media = reply.content_type
    found: Json = {"content_type": media, "bytes": len(reply.body)}
    if reply.truncated:
        return {"error": f"the file is longer than {len(reply.body)} bytes, the most that is read", **found}
    if context is None or context.get_invocation_context().artifact_service is None:
        return {**found, "note": "the file was not kept: no artifact service is configured"}
    name = f"{tool_name}{mimetypes.guess_extension(media) or '.bin'}"
    version = await context.save_artifact(name, Part(inline_data=Blob(data=reply.body, mime_type=media)))
    return {"artifact": name, "version": version, **found}
