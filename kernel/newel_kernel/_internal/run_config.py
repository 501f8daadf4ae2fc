"""RunConfig: how one invocation runs."""

from __future__ import annotations

import sys
from enum import Enum

from pydantic import ConfigDict, field_validator

from newel_kernel._internal.contracts.store import GetSessionConfig
from newel_kernel._internal.values import Json
from newel_types import OneLineErrors


class StreamingMode(Enum):
    """Whether a model's answer is yielded whole (NONE), in chunks (SSE), or over a live connection (BIDI)."""

    NONE = None
    SSE = "sse"
    BIDI = "bidi"


class RunConfig(OneLineErrors):
    """The settings of one invocation. A misspelt field is refused; a subclass adds the fields that plugins read."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, defer_build=True)

    #: Whether answers come whole, in chunks, or over a live connection.
    streaming_mode: StreamingMode = StreamingMode.NONE
    #: The most model calls of the invocation; 0 or less means no limit.
    max_llm_calls: int = 500
    #: Set on every event of the invocation.
    custom_metadata: Json | None = None
    #: Which events of the session to load.
    get_session_config: GetSessionConfig | None = None

    @field_validator("max_llm_calls")
    @classmethod
    def _bounded(cls, value: int) -> int:
        if value == sys.maxsize:
            raise ValueError(f"max_llm_calls should be less than {sys.maxsize}")
        return value
