"""Local services of live sessions for the real SDKs: scripted, strict about what a client sends, and with faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.testing.live.connection import Connection as Connection
    from newel.testing.live.gemini import GeminiLiveServer as GeminiLiveServer
    from newel.testing.live.openai import OpenAIRealtimeServer as OpenAIRealtimeServer
    from newel.testing.live.steps import Close as Close
    from newel.testing.live.steps import Drop as Drop
    from newel.testing.live.steps import Flood as Flood
    from newel.testing.live.steps import Pause as Pause
    from newel.testing.live.steps import Raw as Raw
    from newel.testing.live.steps import Stall as Stall
    from newel.testing.live.steps import Wait as Wait

_WHERE = dict.fromkeys(
    ["Close", "Drop", "Flood", "Pause", "Raw", "Stall", "Wait"],
    "newel.testing.live.steps",
) | {
    "Connection": "newel.testing.live.connection",
    "GeminiLiveServer": "newel.testing.live.gemini",
    "OpenAIRealtimeServer": "newel.testing.live.openai",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
