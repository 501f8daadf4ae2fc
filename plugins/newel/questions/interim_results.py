"""Interim results: those that tell how far a long-running call has come, after which others follow."""

from __future__ import annotations

from newel_types import FunctionResponse

#: What a result's `status` says while the work goes on.
_UNDER_WAY = frozenset({"pending", "queued", "submitted", "running", "in_progress", "in progress", "processing"})


def is_interim(response: FunctionResponse) -> bool:
    """Whether a response says, in its `status`, that the work of the call goes on."""
    status = (response.response or {}).get("status")
    return isinstance(status, str) and status.lower().replace("-", "_") in _UNDER_WAY
