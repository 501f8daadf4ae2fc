"""The released module of the toolset and its tools; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.parsed_operation import OperationEndpoint as OperationEndpoint
    from newel.openapi.parsed_operation import ParsedOperation as ParsedOperation
    from newel.openapi.rest_api_tool import RestApiTool as RestApiTool
    from newel.openapi.spec_parser import OpenApiSpecParser as OpenApiSpecParser
    from newel.openapi.spec_parser import OperationParser as OperationParser
    from newel.openapi.spec_parser import snake_to_lower_camel as snake_to_lower_camel
    from newel.openapi.tool_auth import AuthPreparationState as AuthPreparationState
    from newel.openapi.tool_auth import ToolAuthHandler as ToolAuthHandler
    from newel.openapi.tool_auth import UnauthorizedRecoveryState as UnauthorizedRecoveryState
    from newel.openapi.toolset import OpenAPIToolset as OpenAPIToolset

_WHERE = {
    "AuthPreparationState": "newel.openapi.tool_auth",
    "OpenAPIToolset": "newel.openapi.toolset",
    "OpenApiSpecParser": "newel.openapi.spec_parser",
    "OperationEndpoint": "newel.openapi.parsed_operation",
    "OperationParser": "newel.openapi.spec_parser",
    "ParsedOperation": "newel.openapi.parsed_operation",
    "RestApiTool": "newel.openapi.rest_api_tool",
    "ToolAuthHandler": "newel.openapi.tool_auth",
    "UnauthorizedRecoveryState": "newel.openapi.tool_auth",
    "snake_to_lower_camel": "newel.openapi.spec_parser",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
