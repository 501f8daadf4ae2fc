"""Putting the chunks of a streamed answer together."""

from newel.models.google.streaming import StreamingResponseAggregator

__all__ = ["StreamingResponseAggregator"]
