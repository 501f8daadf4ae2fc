"""Tools: the contract, function tools and toolsets, and the tools that newel brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.contexts.context import ToolContext as ToolContext
    from newel.mcp.toolset import McpToolset as McpToolset
    from newel.tools.agent_tool import AgentTool as AgentTool
    from newel.tools.authenticated_function_tool import AuthenticatedFunctionTool as AuthenticatedFunctionTool
    from newel.tools.base_authenticated_tool import BaseAuthenticatedTool as BaseAuthenticatedTool
    from newel.tools.deferred_tools import Deferred as Deferred
    from newel.tools.example_tool import ExampleTool as ExampleTool
    from newel.tools.exit_loop_tool import ExitLoopTool as ExitLoopTool
    from newel.tools.exit_loop_tool import exit_loop as exit_loop
    from newel.tools.function_tool import FunctionTool as FunctionTool
    from newel.tools.get_user_choice_tool import get_user_choice_tool
    from newel.tools.kinds import adapt_tool as adapt_tool
    from newel.tools.langchain_tool import LangchainTool as LangchainTool
    from newel.tools.load_artifacts_tool import LoadArtifactsTool as LoadArtifactsTool
    from newel.tools.load_artifacts_tool import load_artifacts_tool
    from newel.tools.load_memory_tool import LoadMemoryTool as LoadMemoryTool
    from newel.tools.load_memory_tool import load_memory_tool
    from newel.tools.long_running_tool import LongRunningFunctionTool as LongRunningFunctionTool
    from newel.tools.preload_memory_tool import PreloadMemoryTool as PreloadMemoryTool
    from newel.tools.preload_memory_tool import preload_memory_tool
    from newel.tools.server_tools import CodeExecutionTool as CodeExecutionTool
    from newel.tools.server_tools import EnterpriseWebSearchTool as EnterpriseWebSearchTool
    from newel.tools.server_tools import GoogleMapsGroundingTool as GoogleMapsGroundingTool
    from newel.tools.server_tools import GoogleSearchTool as GoogleSearchTool
    from newel.tools.server_tools import ServerTool as ServerTool
    from newel.tools.server_tools import UrlContextTool as UrlContextTool
    from newel.tools.server_tools import VertexAiSearchTool as VertexAiSearchTool
    from newel.tools.server_tools import code_execution as code_execution
    from newel.tools.server_tools import enterprise_web_search_tool
    from newel.tools.server_tools import google_maps_grounding as google_maps_grounding
    from newel.tools.server_tools import google_search as google_search
    from newel.tools.server_tools import url_context as url_context
    from newel.tools.transfer_to_agent_tool import TransferToAgentTool as TransferToAgentTool
    from newel.tools.transfer_to_agent_tool import transfer_to_agent as transfer_to_agent
    from newel_kernel import BaseTool as BaseTool
    from newel_kernel import BaseToolset as BaseToolset
    from newel_kernel import ToolConfirmation as ToolConfirmation

    MCPToolset = McpToolset
    get_user_choice = get_user_choice_tool
    load_artifacts = load_artifacts_tool
    load_memory = load_memory_tool
    preload_memory = preload_memory_tool
    enterprise_web_search = enterprise_web_search_tool

_WHERE = {
    "AgentTool": "newel.tools.agent_tool",
    "AuthenticatedFunctionTool": "newel.tools.authenticated_function_tool",
    "BaseAuthenticatedTool": "newel.tools.base_authenticated_tool",
    "BaseTool": "newel_kernel",
    "BaseToolset": "newel_kernel",
    "CodeExecutionTool": "newel.tools.server_tools",
    "Deferred": "newel.tools.deferred_tools",
    "EnterpriseWebSearchTool": "newel.tools.server_tools",
    "ExampleTool": "newel.tools.example_tool",
    "FunctionTool": "newel.tools.function_tool",
    "GoogleMapsGroundingTool": "newel.tools.server_tools",
    "GoogleSearchTool": "newel.tools.server_tools",
    "LangchainTool": "newel.tools.langchain_tool",
    "LoadArtifactsTool": "newel.tools.load_artifacts_tool",
    "LoadMemoryTool": "newel.tools.load_memory_tool",
    "LongRunningFunctionTool": "newel.tools.long_running_tool",
    "PreloadMemoryTool": "newel.tools.preload_memory_tool",
    "MCPToolset": "newel.mcp.toolset:McpToolset",
    "McpToolset": "newel.mcp.toolset",
    "ServerTool": "newel.tools.server_tools",
    "ToolConfirmation": "newel_kernel",
    "ToolContext": "newel.contexts.context",
    "TransferToAgentTool": "newel.tools.transfer_to_agent_tool",
    "UrlContextTool": "newel.tools.server_tools",
    "VertexAiSearchTool": "newel.tools.server_tools",
    # What agents need with their first request.
    "adapt_tool": "newel.tools.kinds",
    "code_execution": "newel.tools.server_tools",
    "enterprise_web_search": "newel.tools.server_tools:enterprise_web_search_tool",
    "ExitLoopTool": "newel.tools.exit_loop_tool",
    "exit_loop": "newel.tools.exit_loop_tool",
    "get_user_choice": "newel.tools.get_user_choice_tool:get_user_choice_tool",
    "google_maps_grounding": "newel.tools.server_tools",
    "google_search": "newel.tools.server_tools",
    "load_artifacts": "newel.tools.load_artifacts_tool:load_artifacts_tool",
    "load_memory": "newel.tools.load_memory_tool:load_memory_tool",
    "preload_memory": "newel.tools.preload_memory_tool:preload_memory_tool",
    "transfer_to_agent": "newel.tools.transfer_to_agent_tool",
    "url_context": "newel.tools.server_tools",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
