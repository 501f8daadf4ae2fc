"""The newel kernel: the mechanism of an agent runtime, without any vendor, agent type or tool.

A plugin needs only these names. They load when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from newel_kernel.context import Context as Context
    from newel_kernel.context import ReadonlyContext as ReadonlyContext
    from newel_kernel.contracts.agent import BaseAgent as BaseAgent
    from newel_kernel.contracts.agent import BaseAgentState as BaseAgentState
    from newel_kernel.contracts.descriptors import *  # noqa: F403
    from newel_kernel.contracts.model import BaseLlm as BaseLlm
    from newel_kernel.contracts.model import BaseLlmConnection as BaseLlmConnection
    from newel_kernel.contracts.model import ModelCapabilities as ModelCapabilities
    from newel_kernel.contracts.request import LlmRequest as LlmRequest
    from newel_kernel.contracts.response import LlmResponse as LlmResponse
    from newel_kernel.contracts.tool import BaseTool as BaseTool
    from newel_kernel.contracts.tool import BaseToolset as BaseToolset
    from newel_kernel.contracts.tool import Effect as Effect
    from newel_kernel.events import Event as Event
    from newel_kernel.events import EventActions as EventActions
    from newel_kernel.hookspecs import hookimpl as hookimpl
    from newel_kernel.hookspecs import hookspec as hookspec
    from newel_kernel.host import compose as compose
    from newel_kernel.host import extend as extend
    from newel_kernel.invocation import InvocationContext as InvocationContext
    from newel_kernel.observation import Operation as Operation
    from newel_kernel.observation import Signal as Signal
    from newel_kernel.runner import Runner as Runner
    from newel_kernel.session import Session as Session
    from newel_kernel.state import State as State

_WHERE = {
    **dict.fromkeys(
        ["AgentType", "ArtifactBackend", "AuthProvider", "CodeExecutor", "Command", "CredentialBackend", "Display",
         "Engine", "Epilogue", "MemoryBackend", "Metric", "ModelProvider", "Observer", "Planner", "Prologue",
         "RequestProcessor", "ResponseProcessor", "ResultProcessor", "Route", "SessionBackend", "ToolAdapter",
         "ToolFactory", "ToolPolicy", "ToolPreparation", "WebPanel"],
        "newel_kernel.contracts.descriptors",
    ),
    **dict.fromkeys(["BaseAgent", "BaseAgentState"], "newel_kernel.contracts.agent"),
    **dict.fromkeys(["BaseLlm", "BaseLlmConnection", "ModelCapabilities"], "newel_kernel.contracts.model"),
    **dict.fromkeys(["BaseTool", "BaseToolset", "Effect"], "newel_kernel.contracts.tool"),
    **dict.fromkeys(["Context", "InvocationContext", "ReadonlyContext"], "newel_kernel.context"),
    **dict.fromkeys(["Event", "EventActions"], "newel_kernel.events"),
    **dict.fromkeys(["compose", "extend"], "newel_kernel.host"),
    **dict.fromkeys(["hookimpl", "hookspec"], "newel_kernel.hookspecs"),
    **dict.fromkeys(["Operation", "Signal"], "newel_kernel.observation"),
    "LlmRequest": "newel_kernel.contracts.request",
    "LlmResponse": "newel_kernel.contracts.response",
    "Runner": "newel_kernel.runner",
    "Session": "newel_kernel.session",
    "State": "newel_kernel.state",
}  # fmt: skip

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
