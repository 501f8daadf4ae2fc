"""The released module of the parser of an operation; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.spec_parser import OperationParser as OperationParser

_WHERE = {
    "OperationParser": "newel.openapi.spec_parser",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
