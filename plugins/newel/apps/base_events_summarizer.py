"""The contract of a summarizer of events, for compaction."""

from __future__ import annotations

from abc import ABC, abstractmethod

from newel_kernel import Event


class BaseEventsSummarizer(ABC):
    """Writes the summary that stands for a range of events from then on."""

    @abstractmethod
    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """An event whose `actions.compaction` says the range (by timestamps) and the summary; None: not now."""
