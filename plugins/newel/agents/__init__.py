"""Agents: the base class, the agent types, and their contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.agents.base_agent import BaseAgent as BaseAgent
    from newel.agents.base_agent import BaseAgentState as BaseAgentState
    from newel.agents.invocation_context import InvocationContext as InvocationContext
    from newel.agents.langgraph_agent import LangGraphAgent as LangGraphAgent
    from newel.agents.live_request_queue import LiveRequest as LiveRequest
    from newel.agents.live_request_queue import LiveRequestQueue as LiveRequestQueue
    from newel.agents.llm_agent import Agent as Agent
    from newel.agents.llm_agent import LlmAgent as LlmAgent
    from newel.agents.loop_agent import LoopAgent as LoopAgent
    from newel.agents.mcp_instruction_provider import McpInstructionProvider as McpInstructionProvider
    from newel.agents.parallel_agent import ParallelAgent as ParallelAgent
    from newel.agents.sequential_agent import SequentialAgent as SequentialAgent
    from newel.contexts.context import CallbackContext as CallbackContext
    from newel.contexts.context import Context as Context
    from newel.contexts.readonly_context import ReadonlyContext as ReadonlyContext
    from newel.contexts.run_config import RunConfig as RunConfig
    from newel_kernel import StreamingMode as StreamingMode

_WHERE = {
    "Agent": "newel.agents.llm_agent",
    "BaseAgent": "newel.agents.base_agent",
    "McpInstructionProvider": "newel.agents.mcp_instruction_provider",
    "BaseAgentState": "newel.agents.base_agent",
    "CallbackContext": "newel.contexts.context",
    "Context": "newel.contexts.context",
    "InvocationContext": "newel.agents.invocation_context",
    "LangGraphAgent": "newel.agents.langgraph_agent",
    "LiveRequest": "newel.agents.live_request_queue",
    "LiveRequestQueue": "newel.agents.live_request_queue",
    "LlmAgent": "newel.agents.llm_agent",
    "LoopAgent": "newel.agents.loop_agent",
    "ParallelAgent": "newel.agents.parallel_agent",
    "ReadonlyContext": "newel.contexts.readonly_context",
    "RunConfig": "newel.contexts.run_config",
    "SequentialAgent": "newel.agents.sequential_agent",
    "StreamingMode": "newel_kernel",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
