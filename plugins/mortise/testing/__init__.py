"""What tests of agents and plugins need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.models.scripted import ScriptedModel as ScriptedModel
    from mortise.models.scripted import ScriptError as ScriptError
    from mortise.models.scripted import ScriptExhaustedError as ScriptExhaustedError
    from mortise.models.scripted import ScriptLeftoverError as ScriptLeftoverError
    from mortise.models.scripted import ScriptMismatchError as ScriptMismatchError
    from mortise.testing.gemini_server import GeminiServer as GeminiServer
    from mortise.testing.oauth_server import OAuthServer as OAuthServer

_WHERE = dict.fromkeys(
    ["ScriptError", "ScriptExhaustedError", "ScriptLeftoverError", "ScriptMismatchError", "ScriptedModel"],
    "mortise.models.scripted",
) | {
    "GeminiServer": "mortise.testing.gemini_server",
    "OAuthServer": "mortise.testing.oauth_server",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
