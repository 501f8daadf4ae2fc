"""The released module of the parser of a document; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.parsed_operation import OperationEndpoint as OperationEndpoint
    from newel.openapi.parsed_operation import ParsedOperation as ParsedOperation
    from newel.openapi.spec_parser import OpenApiSpecParser as OpenApiSpecParser

_WHERE = {
    "OpenApiSpecParser": "newel.openapi.spec_parser",
    "OperationEndpoint": "newel.openapi.parsed_operation",
    "ParsedOperation": "newel.openapi.parsed_operation",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
