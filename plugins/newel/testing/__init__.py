"""Tools for tests of agents and plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.models.scripted import ScriptedModel as ScriptedModel
    from newel.models.scripted import ScriptError as ScriptError
    from newel.models.scripted import ScriptExhaustedError as ScriptExhaustedError
    from newel.models.scripted import ScriptLeftoverError as ScriptLeftoverError
    from newel.models.scripted import ScriptMismatchError as ScriptMismatchError
    from newel.testing.artifacts.conformance import artifact_checks as artifact_checks
    from newel.testing.artifacts.conformance import artifact_conformance as artifact_conformance
    from newel.testing.conversation import Conversation as Conversation
    from newel.testing.conversation import Turn as Turn
    from newel.testing.gemini_server import GeminiServer as GeminiServer
    from newel.testing.hashing_embedder import HashingEmbedder as HashingEmbedder
    from newel.testing.live.conformance import live_conformance as live_conformance
    from newel.testing.live.gemini import GeminiLiveServer as GeminiLiveServer
    from newel.testing.live.openai import OpenAIRealtimeServer as OpenAIRealtimeServer
    from newel.testing.live.scripted import CLOSED as CLOSED
    from newel.testing.live.scripted import TURN_COMPLETE as TURN_COMPLETE
    from newel.testing.live.scripted import Heard as Heard
    from newel.testing.live.scripted import Pause as Pause
    from newel.testing.live.scripted import ScriptedLiveModel as ScriptedLiveModel
    from newel.testing.oauth_server import OAuthServer as OAuthServer
    from newel.testing.sessions.conformance import session_checks as session_checks
    from newel.testing.sessions.conformance import session_conformance as session_conformance
    from newel.testing.wire.bench import WIRE_KEY as WIRE_KEY
    from newel.testing.wire.conformance import model_checks as model_checks
    from newel.testing.wire.conformance import model_conformance as model_conformance
    from newel.testing.wire.server import WireServer as WireServer

_WHERE = (
    dict.fromkeys(
        ["ScriptError", "ScriptExhaustedError", "ScriptLeftoverError", "ScriptMismatchError", "ScriptedModel"],
        "newel.models.scripted",
    )
    | dict.fromkeys(["CLOSED", "Heard", "Pause", "ScriptedLiveModel", "TURN_COMPLETE"], "newel.testing.live.scripted")
    | {
        "Conversation": "newel.testing.conversation",
        "GeminiLiveServer": "newel.testing.live.gemini",
        "GeminiServer": "newel.testing.gemini_server",
        "HashingEmbedder": "newel.testing.hashing_embedder",
        "OAuthServer": "newel.testing.oauth_server",
        "OpenAIRealtimeServer": "newel.testing.live.openai",
        "Turn": "newel.testing.conversation",
        "WIRE_KEY": "newel.testing.wire.bench",
        "WireServer": "newel.testing.wire.server",
        "artifact_checks": "newel.testing.artifacts.conformance",
        "artifact_conformance": "newel.testing.artifacts.conformance",
        "live_conformance": "newel.testing.live.conformance",
        "model_checks": "newel.testing.wire.conformance",
        "model_conformance": "newel.testing.wire.conformance",
        "session_checks": "newel.testing.sessions.conformance",
        "session_conformance": "newel.testing.sessions.conformance",
    }
)

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
