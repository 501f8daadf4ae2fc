"""The newel kernel: the mechanism of an agent runtime, without any vendor, agent type or tool.

A plugin needs only these names: `__all__` is the contract, and every other name may change at any time.
docs/reference/kernel.md says what each name is for. Names load on first use.
"""

from __future__ import annotations

from newel_types import lazy_exports

#: Internal module -> its public names.
_NAMES = {
    "cancellation": "cancellations is_interrupt",
    "chains": (
        "Chains Epilogue Prologue RequestProcessor ResponseProcessor ResultProcessor ToolCall ToolPolicy "
        "ToolPreparation TurnPolicy"
    ),
    "contracts.agent": "AgentDriver BaseAgent",
    "contracts.model": "BaseLlm",
    "contracts.model_agent": "ModelAgent ModelDriver",
    "contracts.request": "LlmRequest",
    "contracts.response": "LlmResponse",
    "contracts.store": "BaseSessionService GetSessionConfig ListSessionsResponse apply_to_state trim_temp",
    "contracts.tree": "check_tree subtree",
    "contracts.tool": "BaseTool BaseToolset Effect UnknownTool",
    "dispatch": "UNCOMMITTED dispatch merge_results",
    "errors": (
        "AgentConfigError AlreadyExistsError CompositionError ConfigurationError DuplicateToolError "
        "FeatureUnavailableError FencedError HookSignatureError LlmCallsLimitExceededError LockError "
        "ModelError NewelError PairingError PluginError PluginHookError PluginLoadError ServiceMissingError "
        "SessionError SessionNotFoundError StaleSessionError ToolAbortedError brief "
        "class_name did_you_mean error_text plain"
    ),
    "events": "INVALID_OUTPUT Event EventActions EventCompaction NodeInfo ToolConfirmation as_message freeze_event",
    "gate": "Admission SessionGate open_session",
    "hooks": "LIFECYCLE Bound Callbacks",
    "hookspecs.markers": "Settings hookimpl hookspec",
    "invocation": ("CallbackContext Context InvocationContext Mode ReadonlyContext ToolContext new_invocation_id"),
    "kinds": "Descriptor Kind Registry Stage",
    "log": "Calls Log Turn response_ids",
    "lifecycle": "Draft model_round",
    "loop": "answer_event reason_and_act run_tools settle",
    "observation": "Observer Operation Signal current_operation",
    "preparation": "DONE Plan declare_tools prepare",
    "reception": "Message receive received",
    "rendezvous": "Meeting merge_streams",
    "run_config": "RunConfig StreamingMode",
    "runner": "Application Runner",
    "session": "Session",
    "stash": "Key Stash",
    "state": "State apply_delta",
    "values": "Json",
}
_PLACES = {name: f"{__name__}._internal.{module}" for module, names in _NAMES.items() for name in names.split()} | {
    "API": "newel_types",
    "KERNEL_KINDS": f"{__name__}._internal.hookspecs.registration:KERNEL_KINDS",
    "lifecycle_hookspecs": f"{__name__}._internal.hookspecs.lifecycle:",
    "registration_hookspecs": f"{__name__}._internal.hookspecs.registration:",
    "seam": f"{__name__}._internal.seam:",
}
__all__ = sorted(_PLACES)
#: Errors are told with a line of the code that newel calls, not with one of this package.
__tracebackhide__ = True

__getattr__, __dir__ = lazy_exports(__name__, _PLACES)
