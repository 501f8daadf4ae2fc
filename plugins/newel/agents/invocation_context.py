"""What one invocation shares."""

from newel_kernel.errors import LlmCallsLimitExceededError
from newel_kernel.invocation import InvocationContext, new_invocation_id

__all__ = ["InvocationContext", "LlmCallsLimitExceededError", "new_invocation_id"]
