"""Tools: the contract, function tools and toolsets, and the tools that mortise brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.tools.agent_tool import AgentTool as AgentTool
    from mortise.tools.authenticated_function_tool import AuthenticatedFunctionTool as AuthenticatedFunctionTool
    from mortise.tools.base_authenticated_tool import BaseAuthenticatedTool as BaseAuthenticatedTool
    from mortise.tools.example_tool import ExampleTool as ExampleTool
    from mortise.tools.exit_loop_tool import exit_loop as exit_loop
    from mortise.tools.function_tool import FunctionTool as FunctionTool
    from mortise.tools.get_user_choice_tool import get_user_choice_tool
    from mortise.tools.langchain_tool import LangchainTool as LangchainTool
    from mortise.tools.load_artifacts_tool import LoadArtifactsTool as LoadArtifactsTool
    from mortise.tools.load_artifacts_tool import load_artifacts_tool
    from mortise.tools.load_memory_tool import LoadMemoryTool as LoadMemoryTool
    from mortise.tools.load_memory_tool import load_memory_tool
    from mortise.tools.long_running_tool import LongRunningFunctionTool as LongRunningFunctionTool
    from mortise.tools.preload_memory_tool import PreloadMemoryTool as PreloadMemoryTool
    from mortise.tools.preload_memory_tool import preload_memory_tool
    from mortise.tools.server_tools import CodeExecutionTool as CodeExecutionTool
    from mortise.tools.server_tools import EnterpriseWebSearchTool as EnterpriseWebSearchTool
    from mortise.tools.server_tools import GoogleMapsGroundingTool as GoogleMapsGroundingTool
    from mortise.tools.server_tools import GoogleSearchTool as GoogleSearchTool
    from mortise.tools.server_tools import ServerTool as ServerTool
    from mortise.tools.server_tools import UrlContextTool as UrlContextTool
    from mortise.tools.server_tools import VertexAiSearchTool as VertexAiSearchTool
    from mortise.tools.server_tools import code_execution as code_execution
    from mortise.tools.server_tools import enterprise_web_search_tool
    from mortise.tools.server_tools import google_maps_grounding as google_maps_grounding
    from mortise.tools.server_tools import google_search as google_search
    from mortise.tools.server_tools import url_context as url_context
    from mortise.tools.transfer_to_agent_tool import TransferToAgentTool as TransferToAgentTool
    from mortise.tools.transfer_to_agent_tool import transfer_to_agent as transfer_to_agent
    from mortise_kernel.context import ToolContext as ToolContext
    from mortise_kernel.contracts.tool import BaseTool as BaseTool
    from mortise_kernel.contracts.tool import BaseToolset as BaseToolset
    from mortise_kernel.events import ToolConfirmation as ToolConfirmation

    get_user_choice = get_user_choice_tool
    load_artifacts = load_artifacts_tool
    load_memory = load_memory_tool
    preload_memory = preload_memory_tool
    enterprise_web_search = enterprise_web_search_tool

_WHERE = {
    "AgentTool": "mortise.tools.agent_tool",
    "AuthenticatedFunctionTool": "mortise.tools.authenticated_function_tool",
    "BaseAuthenticatedTool": "mortise.tools.base_authenticated_tool",
    "BaseTool": "mortise_kernel.contracts.tool",
    "BaseToolset": "mortise_kernel.contracts.tool",
    "CodeExecutionTool": "mortise.tools.server_tools",
    "EnterpriseWebSearchTool": "mortise.tools.server_tools",
    "ExampleTool": "mortise.tools.example_tool",
    "FunctionTool": "mortise.tools.function_tool",
    "GoogleMapsGroundingTool": "mortise.tools.server_tools",
    "GoogleSearchTool": "mortise.tools.server_tools",
    "LangchainTool": "mortise.tools.langchain_tool",
    "LoadArtifactsTool": "mortise.tools.load_artifacts_tool",
    "LoadMemoryTool": "mortise.tools.load_memory_tool",
    "LongRunningFunctionTool": "mortise.tools.long_running_tool",
    "PreloadMemoryTool": "mortise.tools.preload_memory_tool",
    "ServerTool": "mortise.tools.server_tools",
    "ToolConfirmation": "mortise_kernel.events",
    "ToolContext": "mortise_kernel.context",
    "TransferToAgentTool": "mortise.tools.transfer_to_agent_tool",
    "UrlContextTool": "mortise.tools.server_tools",
    "VertexAiSearchTool": "mortise.tools.server_tools",
    "code_execution": "mortise.tools.server_tools",
    "enterprise_web_search": "mortise.tools.server_tools:enterprise_web_search_tool",
    "exit_loop": "mortise.tools.exit_loop_tool",
    "get_user_choice": "mortise.tools.get_user_choice_tool:get_user_choice_tool",
    "google_maps_grounding": "mortise.tools.server_tools",
    "google_search": "mortise.tools.server_tools",
    "load_artifacts": "mortise.tools.load_artifacts_tool:load_artifacts_tool",
    "load_memory": "mortise.tools.load_memory_tool:load_memory_tool",
    "preload_memory": "mortise.tools.preload_memory_tool:preload_memory_tool",
    "transfer_to_agent": "mortise.tools.transfer_to_agent_tool",
    "url_context": "mortise.tools.server_tools",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
