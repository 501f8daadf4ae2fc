"""The released module of the tool; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.api import HttpxClientFactory as HttpxClientFactory
    from newel.openapi.rest_api_tool import RestApiTool as RestApiTool
    from newel.openapi.spec_parser import snake_to_lower_camel as snake_to_lower_camel
    from newel.openapi.tool_auth import AuthPreparationState as AuthPreparationState

_WHERE = {
    "AuthPreparationState": "newel.openapi.tool_auth",
    "HttpxClientFactory": "newel.openapi.api",
    "RestApiTool": "newel.openapi.rest_api_tool",
    "snake_to_lower_camel": "newel.openapi.spec_parser",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
