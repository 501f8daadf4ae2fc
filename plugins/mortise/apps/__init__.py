"""Apps: an agent with its plugins and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.apps.app import App as App
    from mortise.apps.base_events_summarizer import BaseEventsSummarizer as BaseEventsSummarizer
    from mortise.apps.configs import EventsCompactionConfig as EventsCompactionConfig
    from mortise.apps.configs import ResumabilityConfig as ResumabilityConfig
    from mortise.apps.llm_event_summarizer import LlmEventSummarizer as LlmEventSummarizer

_WHERE = {
    "App": "mortise.apps.app",
    "BaseEventsSummarizer": "mortise.apps.base_events_summarizer",
    "EventsCompactionConfig": "mortise.apps.configs",
    "LlmEventSummarizer": "mortise.apps.llm_event_summarizer",
    "ResumabilityConfig": "mortise.apps.configs",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
