"""The mortise kernel: the mechanism of an agent runtime, without any vendor, agent type or tool.

A plugin needs only these names. They load when first used.
"""

from __future__ import annotations

from mortise_kernel.lazy import lazy_exports

_WHERE = {
    **dict.fromkeys(
        ["AgentType", "ArtifactBackend", "AuthProvider", "CodeExecutor", "Command", "CredentialBackend", "Engine",
         "MemoryBackend", "Metric", "ModelProvider", "Planner", "RequestProcessor", "ResponseProcessor",
         "ResultProcessor", "Route", "SessionBackend", "ToolAdapter", "ToolFactory", "WebPanel"],
        "mortise_kernel.contracts.descriptors",
    ),
    **dict.fromkeys(["BaseAgent", "BaseAgentState"], "mortise_kernel.contracts.agent"),
    **dict.fromkeys(["BaseLlm", "BaseLlmConnection", "ModelCapabilities"], "mortise_kernel.contracts.model"),
    **dict.fromkeys(["BaseTool", "BaseToolset", "Effect"], "mortise_kernel.contracts.tool"),
    **dict.fromkeys(["Context", "InvocationContext", "ReadonlyContext"], "mortise_kernel.context"),
    **dict.fromkeys(["Event", "EventActions"], "mortise_kernel.events"),
    **dict.fromkeys(["compose", "extend"], "mortise_kernel.host"),
    **dict.fromkeys(["hookimpl", "hookspec"], "mortise_kernel.hookspecs"),
    "LlmRequest": "mortise_kernel.contracts.request",
    "LlmResponse": "mortise_kernel.contracts.response",
    "Runner": "mortise_kernel.runner",
    "Session": "mortise_kernel.session",
    "State": "mortise_kernel.state",
}  # fmt: skip

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
