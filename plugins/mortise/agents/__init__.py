"""Agents: the base class, the LLM agent, and what they run with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.agents.langgraph_agent import LangGraphAgent as LangGraphAgent
    from mortise.agents.live_request_queue import LiveRequest as LiveRequest
    from mortise.agents.live_request_queue import LiveRequestQueue as LiveRequestQueue
    from mortise.agents.llm_agent import Agent as Agent
    from mortise.agents.llm_agent import LlmAgent as LlmAgent
    from mortise.agents.loop_agent import LoopAgent as LoopAgent
    from mortise.agents.parallel_agent import ParallelAgent as ParallelAgent
    from mortise.agents.sequential_agent import SequentialAgent as SequentialAgent
    from mortise_kernel.context import CallbackContext as CallbackContext
    from mortise_kernel.context import Context as Context
    from mortise_kernel.context import ReadonlyContext as ReadonlyContext
    from mortise_kernel.contracts.agent import BaseAgent as BaseAgent
    from mortise_kernel.contracts.agent import BaseAgentState as BaseAgentState
    from mortise_kernel.invocation import InvocationContext as InvocationContext
    from mortise_kernel.run_config import RunConfig as RunConfig
    from mortise_kernel.run_config import StreamingMode as StreamingMode

_WHERE = {
    "Agent": "mortise.agents.llm_agent",
    "BaseAgent": "mortise_kernel.contracts.agent",
    "BaseAgentState": "mortise_kernel.contracts.agent",
    "CallbackContext": "mortise_kernel.context",
    "Context": "mortise_kernel.context",
    "InvocationContext": "mortise_kernel.invocation",
    "LangGraphAgent": "mortise.agents.langgraph_agent",
    "LiveRequest": "mortise.agents.live_request_queue",
    "LiveRequestQueue": "mortise.agents.live_request_queue",
    "LlmAgent": "mortise.agents.llm_agent",
    "LoopAgent": "mortise.agents.loop_agent",
    "ParallelAgent": "mortise.agents.parallel_agent",
    "ReadonlyContext": "mortise_kernel.context",
    "RunConfig": "mortise_kernel.run_config",
    "SequentialAgent": "mortise.agents.sequential_agent",
    "StreamingMode": "mortise_kernel.run_config",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
