"""The released module of the tool; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.rest_api_tool import RestApiTool as RestApiTool

_WHERE = {
    "RestApiTool": "newel.openapi.rest_api_tool",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
