"""Gemini: the models of Google's Gemini API and of Vertex AI, through the google-genai SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.models.google.caches import GeminiContextCacheManager as GeminiContextCacheManager
    from newel.models.google.gemini import Gemini as Gemini
    from newel.models.google.streaming import StreamingResponseAggregator as StreamingResponseAggregator

_WHERE = {
    "Gemini": "newel.models.google.gemini",
    "GeminiContextCacheManager": "newel.models.google.caches",
    "StreamingResponseAggregator": "newel.models.google.streaming",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
