"""OpenAPI: the operations of a document as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.errors import DocumentError as DocumentError
    from newel.openapi.parsed_operation import OperationEndpoint as OperationEndpoint
    from newel.openapi.rest_api_tool import RestApiTool as RestApiTool
    from newel.openapi.toolset import OpenAPIToolset as OpenAPIToolset

_WHERE = {
    "DocumentError": "newel.openapi.errors",
    "OpenAPIToolset": "newel.openapi.toolset",
    "OperationEndpoint": "newel.openapi.parsed_operation",
    "RestApiTool": "newel.openapi.rest_api_tool",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
