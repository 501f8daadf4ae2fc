"""Tools: the contract, function tools and toolsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.tools.function_tool import FunctionTool as FunctionTool
    from mortise.tools.transfer_to_agent_tool import TransferToAgentTool as TransferToAgentTool
    from mortise.tools.transfer_to_agent_tool import transfer_to_agent as transfer_to_agent
    from mortise_kernel.context import ToolContext as ToolContext
    from mortise_kernel.contracts.tool import BaseTool as BaseTool
    from mortise_kernel.contracts.tool import BaseToolset as BaseToolset
    from mortise_kernel.events import ToolConfirmation as ToolConfirmation

_WHERE = {
    "BaseTool": "mortise_kernel.contracts.tool",
    "BaseToolset": "mortise_kernel.contracts.tool",
    "FunctionTool": "mortise.tools.function_tool",
    "ToolConfirmation": "mortise_kernel.events",
    "ToolContext": "mortise_kernel.context",
    "TransferToAgentTool": "mortise.tools.transfer_to_agent_tool",
    "transfer_to_agent": "mortise.tools.transfer_to_agent_tool",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
