"""The context of an invocation."""

from newel.contexts.invocation_context import InvocationContext
from newel_kernel import LlmCallsLimitExceededError, new_invocation_id

__all__ = ["InvocationContext", "LlmCallsLimitExceededError", "new_invocation_id"]
