"""A request to confirm a tool call, or its answer."""

from mortise_kernel.events import ToolConfirmation

__all__ = ["ToolConfirmation"]
