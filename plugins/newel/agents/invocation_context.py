"""What one invocation shares."""

from newel_kernel import InvocationContext, LlmCallsLimitExceededError, new_invocation_id

__all__ = ["InvocationContext", "LlmCallsLimitExceededError", "new_invocation_id"]
