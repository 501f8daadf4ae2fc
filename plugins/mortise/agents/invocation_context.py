"""What one invocation shares."""

from mortise_kernel.errors import LlmCallsLimitExceededError
from mortise_kernel.invocation import InvocationContext, new_invocation_id

__all__ = ["InvocationContext", "LlmCallsLimitExceededError", "new_invocation_id"]
