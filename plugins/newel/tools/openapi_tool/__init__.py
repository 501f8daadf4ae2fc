"""The released module of tools of OpenAPI documents; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.rest_api_tool import RestApiTool as RestApiTool
    from newel.openapi.toolset import OpenAPIToolset as OpenAPIToolset

_WHERE = {
    "OpenAPIToolset": "newel.openapi.toolset",
    "RestApiTool": "newel.openapi.rest_api_tool",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
