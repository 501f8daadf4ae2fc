"""Local services of live sessions for the real SDKs: scripted, strict about what a client sends, and with faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel_testkit.live.connection import Connection as Connection
    from newel_testkit.live.gemini import GeminiLiveServer as GeminiLiveServer
    from newel_testkit.live.openai import OpenAIRealtimeServer as OpenAIRealtimeServer
    from newel_testkit.live.steps import Close as Close
    from newel_testkit.live.steps import Drop as Drop
    from newel_testkit.live.steps import Flood as Flood
    from newel_testkit.live.steps import Pause as Pause
    from newel_testkit.live.steps import Raw as Raw
    from newel_testkit.live.steps import Stall as Stall
    from newel_testkit.live.steps import Wait as Wait

_WHERE = dict.fromkeys(
    ["Close", "Drop", "Flood", "Pause", "Raw", "Stall", "Wait"],
    "newel_testkit.live.steps",
) | {
    "Connection": "newel_testkit.live.connection",
    "GeminiLiveServer": "newel_testkit.live.gemini",
    "OpenAIRealtimeServer": "newel_testkit.live.openai",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
