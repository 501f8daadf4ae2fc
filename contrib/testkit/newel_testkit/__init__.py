"""Services on this machine for tests: the protocols of models, live sessions and OAuth, as strict as the real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel_testkit.gemini_server import GeminiServer as GeminiServer
    from newel_testkit.live.conformance import live_conformance as live_conformance
    from newel_testkit.live.gemini import GeminiLiveServer as GeminiLiveServer
    from newel_testkit.live.openai import OpenAIRealtimeServer as OpenAIRealtimeServer
    from newel_testkit.oauth_server import OAuthServer as OAuthServer
    from newel_testkit.rest_server import REST_KEY as REST_KEY
    from newel_testkit.rest_server import RestServer as RestServer
    from newel_testkit.wire.bench import WIRE_KEY as WIRE_KEY
    from newel_testkit.wire.conformance import model_checks as model_checks
    from newel_testkit.wire.conformance import model_conformance as model_conformance
    from newel_testkit.wire.server import WireServer as WireServer

_WHERE = {
    "GeminiLiveServer": "newel_testkit.live.gemini",
    "GeminiServer": "newel_testkit.gemini_server",
    "OAuthServer": "newel_testkit.oauth_server",
    "OpenAIRealtimeServer": "newel_testkit.live.openai",
    "REST_KEY": "newel_testkit.rest_server",
    "RestServer": "newel_testkit.rest_server",
    "WIRE_KEY": "newel_testkit.wire.bench",
    "WireServer": "newel_testkit.wire.server",
    "live_conformance": "newel_testkit.live.conformance",
    "model_checks": "newel_testkit.wire.conformance",
    "model_conformance": "newel_testkit.wire.conformance",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
