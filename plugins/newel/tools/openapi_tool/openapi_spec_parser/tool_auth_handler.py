"""The released module of the credentials of a call; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.tool_auth import AuthPreparationResult as AuthPreparationResult
    from newel.openapi.tool_auth import AuthPreparationState as AuthPreparationState
    from newel.openapi.tool_auth import ToolAuthHandler as ToolAuthHandler
    from newel.openapi.tool_auth import UnauthorizedRecoveryState as UnauthorizedRecoveryState

_WHERE = {
    "AuthPreparationResult": "newel.openapi.tool_auth",
    "AuthPreparationState": "newel.openapi.tool_auth",
    "ToolAuthHandler": "newel.openapi.tool_auth",
    "UnauthorizedRecoveryState": "newel.openapi.tool_auth",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
