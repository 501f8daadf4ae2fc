"""What one invocation shares."""

from newel_kernel import LlmCallsLimitExceededError
from newel_kernel import InvocationContext, new_invocation_id

__all__ = ["InvocationContext", "LlmCallsLimitExceededError", "new_invocation_id"]
