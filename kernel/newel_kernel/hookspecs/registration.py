"""Registration hooks: what a plugin provides.

They are synchronous and called once, when a distribution is composed. Each returns a list of frozen
descriptors (`contracts.descriptors`). An implementation may take `settings`, a mapping from a plugin's name
to its validated settings. The examples run as doctests, with the names of `newel_kernel` at hand.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from newel_kernel.contracts import descriptors as d
from newel_kernel.hookspecs.markers import hookspec


@hookspec
def register_settings() -> type[BaseModel] | None:
    """The pydantic model of the plugin's settings; a distribution sets them under `settings: {plugin: ...}`.

    >>> class Settings(BaseModel, extra="forbid"):
    ...     volume: int = 3
    >>> class Plugin:
    ...     name = "loud"
    ...     @hookimpl
    ...     def register_settings(self):
    ...         return Settings
    >>> "register_settings" in compose("minimal", plugins=[Plugin()]).plugins[0].hooks
    True
    """
    return None


#: Registration hook -> the descriptor it returns.
REGISTRATION: dict[str, type[Any]] = {
    "register_request_processors": d.RequestProcessor,
    "register_response_processors": d.ResponseProcessor,
    "register_result_processors": d.ResultProcessor,
    "register_tool_policies": d.ToolPolicy,
    "register_prologues": d.Prologue,
    "register_epilogues": d.Epilogue,
    "register_observers": d.Observer,
    "register_model_providers": d.ModelProvider,
    "register_session_backends": d.SessionBackend,
    "register_artifact_backends": d.ArtifactBackend,
    "register_memory_backends": d.MemoryBackend,
    "register_credential_backends": d.CredentialBackend,
    "register_auth_providers": d.AuthProvider,
    "register_code_executors": d.CodeExecutor,
    "register_planners": d.Planner,
    "register_tool_factories": d.ToolFactory,
    "register_tool_adapters": d.ToolAdapter,
    "register_agent_types": d.AgentType,
    "register_engines": d.Engine,
    "register_metrics": d.Metric,
    "register_commands": d.Command,
    "register_displays": d.Display,
    "register_routes": d.Route,
    "register_web_panels": d.WebPanel,
}
