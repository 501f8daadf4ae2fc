"""The released module of parameters; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.common import ApiParameter as ApiParameter
    from newel.openapi.common import rename_python_keywords as rename_python_keywords

_WHERE = {
    "ApiParameter": "newel.openapi.common",
    "rename_python_keywords": "newel.openapi.common",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
