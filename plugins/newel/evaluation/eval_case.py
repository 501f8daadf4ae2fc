"""EvalCase and Invocation, by the released name."""

from newel.evaluation.cases.conversation_scenarios import ConversationScenario
from newel.evaluation.cases.eval_case import (
    EvalCase,
    IntermediateData,
    IntermediateDataType,
    Invocation,
    InvocationEvent,
    InvocationEvents,
    SessionInput,
    SessionState,
    StaticConversation,
    ToolCallAndResponse,
    get_all_tool_calls,
    get_all_tool_calls_with_responses,
    get_all_tool_responses,
    get_all_usage_metadata,
)

__all__ = [
    "ConversationScenario",
    "EvalCase",
    "IntermediateData",
    "IntermediateDataType",
    "Invocation",
    "InvocationEvent",
    "InvocationEvents",
    "SessionInput",
    "SessionState",
    "StaticConversation",
    "ToolCallAndResponse",
    "get_all_tool_calls",
    "get_all_tool_calls_with_responses",
    "get_all_tool_responses",
    "get_all_usage_metadata",
]
