"""LiveRequestQueue: the input of a caller, or of a streaming tool, for a live session, in order."""

from newel.live.queue import LiveRequest, LiveRequestQueue, ToolStream

__all__ = ["LiveRequest", "LiveRequestQueue", "ToolStream"]
