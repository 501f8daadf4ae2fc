"""Panels of plugins: which there are, from whom, and the module of each."""

from __future__ import annotations

from hashlib import blake2b

from pydantic import BaseModel
from starlette.responses import Response

from newel.server.calls import Call, endpoint
from newel.server.refusals import Refusal
from newel.web.kinds import WebPanel
from newel_compose import describe_error


class PanelAnswer(BaseModel):
    """A tab of the page."""

    name: str
    title: str
    element: str
    line: str
    #: Who it is from: the plugin, and its package with the version.
    plugin: str
    source: str


@endpoint(answer=list[PanelAnswer])
async def panels(call: Call) -> object:
    """The tabs that plugins add to the page."""
    owned = call.server.composition.registry.owned(WebPanel)
    return [
        PanelAnswer(
            name=one.item.name,
            title=one.item.title,
            element=one.item.element,
            line=one.item.line,
            plugin=one.plugin,
            source=one.source,
        )
        for one in owned.values()
        if call.server.stored is None or not one.item.needs_agent
    ]


@endpoint(media_type="text/javascript")
async def panel(call: Call) -> Response:
    """The module of a plugin's panel."""
    return module(call, call.path["name"])


def module(call: Call, name: str) -> Response:
    """The module of the panel of this name."""
    owned = call.server.composition.registry.owned(WebPanel).get(name.removesuffix(".js"))
    if owned is None:
        raise Refusal(404, "Not Found")
    try:
        data = owned.item.source().encode()
    except Exception as error:
        raise Refusal(500, f"the panel {owned.item.name!r} of {owned.source}: {describe_error(error)}") from error
    tag = f'"{blake2b(data, digest_size=12).hexdigest()}"'
    headers = {"etag": tag, "cache-control": "no-cache"}
    if call.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, headers=headers, media_type="text/javascript; charset=utf-8")
