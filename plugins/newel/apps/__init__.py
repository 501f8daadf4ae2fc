"""Apps: an agent with its plugins and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.apps.app import App as App
    from newel.apps.base_events_summarizer import BaseEventsSummarizer as BaseEventsSummarizer
    from newel.apps.configs import EventsCompactionConfig as EventsCompactionConfig
    from newel.apps.configs import ResumabilityConfig as ResumabilityConfig
    from newel.apps.llm_event_summarizer import LlmEventSummarizer as LlmEventSummarizer

_WHERE = {
    "App": "newel.apps.app",
    "BaseEventsSummarizer": "newel.apps.base_events_summarizer",
    "EventsCompactionConfig": "newel.apps.configs",
    "LlmEventSummarizer": "newel.apps.llm_event_summarizer",
    "ResumabilityConfig": "newel.apps.configs",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
