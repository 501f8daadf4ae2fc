"""Files among the arguments of a call: a text, bytes in base64, or an artifact of the session."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from typing import Any

from newel.contexts.context import Context
from newel.openapi.arguments import Argument, Arguments, Values
from newel.openapi.bodies import File
from newel.openapi.errors import ArgumentError


async def with_files(values: Values, arguments: Arguments, context: Context) -> Values:
    """The values, with a File for each file; raises ArgumentError if one is not there."""
    body = values.body
    for one in arguments.listed:
        if one.parameter is not None or not (one.file or one.files) or not values.has_body:
            continue
        if one.name is None:
            body = await _file(one, body, context)
        elif one.name in body:
            given = body[one.name]
            read = (
                [await _file(one, item, context) for item in given] if one.files else await _file(one, given, context)
            )
            body = {**body, one.name: read}
    return replace(values, body=body)


async def _file(one: Argument, value: Any, context: Context) -> File | None:
    if value is None:
        return None
    name = one.name or "file"
    if isinstance(value, str):
        try:
            return File(value.encode(), name, "text/plain; charset=utf-8")
        except UnicodeEncodeError:
            raise ArgumentError(f"{one.called}: the text holds half a character") from None
    given = value.keys() & {"artifact", "base64"}
    if len(given) != 1:
        raise ArgumentError(f"{one.called}: give a text, or either `artifact` or `base64`")
    if "base64" in given:
        try:
            return File(b64decode(value["base64"], validate=True), value.get("filename") or name)
        except ValueError:
            raise ArgumentError(f"{one.called}: `base64` is not valid base64") from None
    return await _artifact(one, value["artifact"], value.get("filename"), context)


async def _artifact(one: Argument, name: str, filename: str | None, context: Context) -> File:
    if context.get_invocation_context().artifact_service is None:
        raise ArgumentError(f"{one.called}: there are no artifacts; give the text of the file, or its `base64`")
    part = await context.load_artifact(name)
    if part is None:
        known = ", ".join(await context.list_artifacts()) or "none"
        raise ArgumentError(f"{one.called}: there is no artifact {name!r}; there are: {known}")
    shown = filename or name.rpartition("/")[2].rpartition(":")[2]
    if part.inline_data is not None and part.inline_data.data is not None:
        media = part.inline_data.mime_type or "application/octet-stream"
        return File(part.inline_data.data, shown, media)
    return File((part.text or "").encode(), shown, "text/plain; charset=utf-8")
