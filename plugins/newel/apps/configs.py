"""The settings of an app: resumption, and compaction of its sessions."""

from __future__ import annotations

from typing import Self

from pydantic import ConfigDict, Field, model_validator

from newel.apps.base_events_summarizer import BaseEventsSummarizer
from newel_types import OneLineErrors


class ResumabilityConfig(OneLineErrors):
    """Whether an interrupted invocation can be resumed."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    #: Whether invocations pause on long-running calls, and resume by their id.
    is_resumable: bool = False


class EventsCompactionConfig(OneLineErrors):
    """When the older part of a session is summarised: every few invocations, or when a prompt grows too long."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid", defer_build=True)

    #: The writer of the summary; None: the model of the app's first LLM agent.
    summarizer: BaseEventsSummarizer | None = None
    #: Summarise once this many invocations have come since the last summary.
    compaction_interval: int | None = Field(default=None, ge=1)
    #: How many earlier invocations the summary covers as well.
    overlap_size: int | None = Field(default=None, ge=0)
    #: Summarise once a prompt has this many tokens.
    token_threshold: int | None = Field(default=None, gt=0)
    #: How many events stay as they are when the threshold is reached.
    event_retention_size: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _in_pairs(self) -> Self:
        window = (self.compaction_interval, self.overlap_size)
        threshold = (self.token_threshold, self.event_retention_size)
        if (window[0] is None) != (window[1] is None):
            raise ValueError("compaction_interval and overlap_size must be set together.")
        if (threshold[0] is None) != (threshold[1] is None):
            raise ValueError("token_threshold and event_retention_size must be set together.")
        if window[0] is None and threshold[0] is None:
            raise ValueError("set compaction_interval and overlap_size, or token_threshold and event_retention_size")
        return self
