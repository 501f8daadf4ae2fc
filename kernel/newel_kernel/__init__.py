"""The newel kernel: the mechanism of an agent runtime, without any vendor, agent type or tool.

These names are all that a plugin needs of it: `__all__` is the contract, and what it does not name may change on any
day. docs/kernel.md says of each what it is for. They load when first used.
"""

from __future__ import annotations

from newel_types import lazy_exports

#: Module of the inside -> its names that are public.
_NAMES = {
    "chains": "Chains",
    "context": "CallbackContext Context ReadonlyContext ToolContext",
    "contracts.agent": "BaseAgent BaseAgentState Handover",
    "contracts.model": "BaseLlm BaseLlmConnection ModelCapabilities",
    "contracts.model_agent": "ModelAgent",
    "contracts.request": "LlmRequest",
    "contracts.response": "LlmResponse",
    "contracts.services": "ArtifactService CredentialService MemoryService",
    "contracts.store": (
        "BaseSessionService GetSessionConfig ListSessionsResponse apply_to_state check_pairing trim_temp"
    ),
    "contracts.tool": "BaseTool BaseToolset Effect UnknownTool",
    "contracts.turns": "Turns",
    "dispatch": "dispatch",
    "errors": (
        "AgentConfigError AlreadyExistsError CompositionError ConfigurationError DuplicateToolError "
        "FeatureUnavailableError FencedError HookSignatureError LlmCallsLimitExceededError LockError "
        "ModelError NewelError NodeTimeoutError PairingError PluginError PluginHookError PluginLoadError "
        "ServiceMissingError "
        "SessionError SessionNotFoundError StaleSessionError StateSchemaError ToolAbortedError did_you_mean"
    ),
    "events": "Event EventActions EventCompaction NodeInfo ToolConfirmation as_message freeze_event",
    "hooks": "LIFECYCLE Bound Callbacks as_callbacks bind",
    "hookspecs.markers": "Settings hookimpl hookspec",
    "invocation": "InvocationContext new_invocation_id",
    "kinds": (
        "Descriptor Epilogue Kind Observer Prologue Registry RequestProcessor ResponseProcessor "
        "ResultProcessor Stage ToolPolicy ToolPreparation TurnPolicy"
    ),
    "log": "Calls Log Turn response_ids",
    "loop": "reason_and_act run_tools",
    "observation": "Operation Signal current_operation",
    "preparation": "declare_tools",
    "rendezvous": "Meeting merge_streams",
    "run_config": "RunConfig StreamingMode ToolThreadPoolConfig",
    "runner": "Runner",
    "session": "Session",
    "stash": "Key Stash",
    "state": "State apply_delta merge_scopes split_by_scope",
    "tree": "check_tree",
    "values": "Json",
}
_PLACES = {name: f"{__name__}._internal.{module}" for module, names in _NAMES.items() for name in names.split()} | {
    "KERNEL_KINDS": f"{__name__}._internal.hookspecs.registration:KERNEL_KINDS",
    "lifecycle_hookspecs": f"{__name__}._internal.hookspecs.lifecycle:",
    "registration_hookspecs": f"{__name__}._internal.hookspecs.registration:",
    "seam": f"{__name__}._internal.seam:",
}
__all__ = sorted(_PLACES)

__getattr__, __dir__ = lazy_exports(__name__, _PLACES)
