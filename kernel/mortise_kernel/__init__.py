"""The mortise kernel: the mechanism of an agent runtime, without any vendor, agent type or tool.

A plugin needs only these names. They load when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise_kernel.context import Context as Context
    from mortise_kernel.context import ReadonlyContext as ReadonlyContext
    from mortise_kernel.contracts.agent import BaseAgent as BaseAgent
    from mortise_kernel.contracts.agent import BaseAgentState as BaseAgentState
    from mortise_kernel.contracts.descriptors import *  # noqa: F403
    from mortise_kernel.contracts.model import BaseLlm as BaseLlm
    from mortise_kernel.contracts.model import BaseLlmConnection as BaseLlmConnection
    from mortise_kernel.contracts.model import ModelCapabilities as ModelCapabilities
    from mortise_kernel.contracts.request import LlmRequest as LlmRequest
    from mortise_kernel.contracts.response import LlmResponse as LlmResponse
    from mortise_kernel.contracts.tool import BaseTool as BaseTool
    from mortise_kernel.contracts.tool import BaseToolset as BaseToolset
    from mortise_kernel.contracts.tool import Effect as Effect
    from mortise_kernel.events import Event as Event
    from mortise_kernel.events import EventActions as EventActions
    from mortise_kernel.hookspecs import hookimpl as hookimpl
    from mortise_kernel.hookspecs import hookspec as hookspec
    from mortise_kernel.host import compose as compose
    from mortise_kernel.host import extend as extend
    from mortise_kernel.invocation import InvocationContext as InvocationContext
    from mortise_kernel.observation import Operation as Operation
    from mortise_kernel.observation import Signal as Signal
    from mortise_kernel.runner import Runner as Runner
    from mortise_kernel.session import Session as Session
    from mortise_kernel.state import State as State

_WHERE = {
    **dict.fromkeys(
        ["AgentType", "ArtifactBackend", "AuthProvider", "CodeExecutor", "Command", "CredentialBackend", "Display",
         "Engine", "Epilogue", "MemoryBackend", "Metric", "ModelProvider", "Observer", "Planner", "Prologue",
         "RequestProcessor", "ResponseProcessor", "ResultProcessor", "Route", "SessionBackend", "ToolAdapter",
         "ToolFactory", "ToolPolicy", "ToolPreparation", "WebPanel"],
        "mortise_kernel.contracts.descriptors",
    ),
    **dict.fromkeys(["BaseAgent", "BaseAgentState"], "mortise_kernel.contracts.agent"),
    **dict.fromkeys(["BaseLlm", "BaseLlmConnection", "ModelCapabilities"], "mortise_kernel.contracts.model"),
    **dict.fromkeys(["BaseTool", "BaseToolset", "Effect"], "mortise_kernel.contracts.tool"),
    **dict.fromkeys(["Context", "InvocationContext", "ReadonlyContext"], "mortise_kernel.context"),
    **dict.fromkeys(["Event", "EventActions"], "mortise_kernel.events"),
    **dict.fromkeys(["compose", "extend"], "mortise_kernel.host"),
    **dict.fromkeys(["hookimpl", "hookspec"], "mortise_kernel.hookspecs"),
    **dict.fromkeys(["Operation", "Signal"], "mortise_kernel.observation"),
    "LlmRequest": "mortise_kernel.contracts.request",
    "LlmResponse": "mortise_kernel.contracts.response",
    "Runner": "mortise_kernel.runner",
    "Session": "mortise_kernel.session",
    "State": "mortise_kernel.state",
}  # fmt: skip

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
