"""Tools for tests of agents and plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel.testing.simulators import moved
from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.models.scripted import ScriptedModel as ScriptedModel
    from newel.models.scripted import ScriptError as ScriptError
    from newel.models.scripted import ScriptExhaustedError as ScriptExhaustedError
    from newel.models.scripted import ScriptLeftoverError as ScriptLeftoverError
    from newel.models.scripted import ScriptMismatchError as ScriptMismatchError
    from newel.testing.artifacts.conformance import artifact_checks as artifact_checks
    from newel.testing.artifacts.conformance import artifact_conformance as artifact_conformance
    from newel.testing.auth_providers import auth_provider_checks as auth_provider_checks
    from newel.testing.auth_providers import auth_provider_conformance as auth_provider_conformance
    from newel.testing.commands import command_checks as command_checks
    from newel.testing.commands import command_conformance as command_conformance
    from newel.testing.conversation import Conversation as Conversation
    from newel.testing.conversation import Turn as Turn
    from newel.testing.engines.conformance import engine_checks as engine_checks
    from newel.testing.engines.conformance import engine_conformance as engine_conformance
    from newel.testing.hashing_embedder import HashingEmbedder as HashingEmbedder
    from newel.testing.memory import memory_checks as memory_checks
    from newel.testing.memory import memory_conformance as memory_conformance
    from newel.testing.metrics import metric_checks as metric_checks
    from newel.testing.metrics import metric_conformance as metric_conformance
    from newel.testing.packages import FakePackages as FakePackages
    from newel.testing.processors import processor_checks as processor_checks
    from newel.testing.processors import processor_conformance as processor_conformance
    from newel.testing.scripted_live import CLOSED as CLOSED
    from newel.testing.scripted_live import TURN_COMPLETE as TURN_COMPLETE
    from newel.testing.scripted_live import Pause as Pause
    from newel.testing.scripted_live import ScriptedLiveModel as ScriptedLiveModel
    from newel.testing.scripted_live import WaitFor as WaitFor
    from newel.testing.sessions.conformance import session_checks as session_checks
    from newel.testing.sessions.conformance import session_conformance as session_conformance
    from newel.testing.telemetry import telemetry_findings as telemetry_findings

_WHERE = (
    dict.fromkeys(
        ["ScriptError", "ScriptExhaustedError", "ScriptLeftoverError", "ScriptMismatchError", "ScriptedModel"],
        "newel.models.scripted",
    )
    | dict.fromkeys(["CLOSED", "WaitFor", "Pause", "ScriptedLiveModel", "TURN_COMPLETE"], "newel.testing.scripted_live")
    | dict.fromkeys(["auth_provider_checks", "auth_provider_conformance"], "newel.testing.auth_providers")
    | dict.fromkeys(["command_checks", "command_conformance"], "newel.testing.commands")
    | dict.fromkeys(["memory_checks", "memory_conformance"], "newel.testing.memory")
    | dict.fromkeys(["metric_checks", "metric_conformance"], "newel.testing.metrics")
    | dict.fromkeys(["processor_checks", "processor_conformance"], "newel.testing.processors")
    | {
        "Conversation": "newel.testing.conversation",
        "FakePackages": "newel.testing.packages",
        "HashingEmbedder": "newel.testing.hashing_embedder",
        "Turn": "newel.testing.conversation",
        "artifact_checks": "newel.testing.artifacts.conformance",
        "artifact_conformance": "newel.testing.artifacts.conformance",
        "engine_checks": "newel.testing.engines.conformance",
        "engine_conformance": "newel.testing.engines.conformance",
        "telemetry_findings": "newel.testing.telemetry",
        "session_checks": "newel.testing.sessions.conformance",
        "session_conformance": "newel.testing.sessions.conformance",
    }
)

#: In newel-testkit, and importable from here by their former names.
_SIMULATORS = {
    "GeminiLiveServer",
    "GeminiServer",
    "OAuthServer",
    "OpenAIRealtimeServer",
    "WIRE_KEY",
    "WireServer",
    "live_conformance",
    "model_checks",
    "model_conformance",
}

_own, __dir__ = lazy_exports(__name__, _WHERE)
_moved = moved("")


def __getattr__(name: str) -> object:
    return _moved(name) if name in _SIMULATORS else _own(name)
