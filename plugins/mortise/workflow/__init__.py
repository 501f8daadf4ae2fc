"""Workflows: graphs of functions, tools, agents and other workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.workflow.base_node import START as START
    from mortise.workflow.base_node import BaseNode as BaseNode
    from mortise.workflow.context import NodeContext as NodeContext
    from mortise.workflow.custom_node import Node as Node
    from mortise.workflow.decorator import node as node
    from mortise.workflow.edges import DEFAULT_ROUTE as DEFAULT_ROUTE
    from mortise.workflow.edges import Edge as Edge
    from mortise.workflow.errors import DynamicNodeFailError as DynamicNodeFailError
    from mortise.workflow.errors import NodeInterruptedError as NodeInterruptedError
    from mortise.workflow.errors import NodeTimeoutError as NodeTimeoutError
    from mortise.workflow.errors import StateSchemaError as StateSchemaError
    from mortise.workflow.function_node import FunctionNode as FunctionNode
    from mortise.workflow.graph import Graph as Graph
    from mortise.workflow.join_node import JoinNode as JoinNode
    from mortise.workflow.node_runner import NodeRunner as NodeRunner
    from mortise.workflow.parallel_worker import ParallelWorker as ParallelWorker
    from mortise.workflow.retry_config import RetryConfig as RetryConfig
    from mortise.workflow.states import NodeState as NodeState
    from mortise.workflow.states import NodeStatus as NodeStatus
    from mortise.workflow.tool_node import ToolNode as ToolNode
    from mortise.workflow.workflow import Workflow as Workflow

_WHERE = {
    "BaseNode": "mortise.workflow.base_node",
    "DEFAULT_ROUTE": "mortise.workflow.edges",
    "DynamicNodeFailError": "mortise.workflow.errors",
    "Edge": "mortise.workflow.edges",
    "FunctionNode": "mortise.workflow.function_node",
    "Graph": "mortise.workflow.graph",
    "JoinNode": "mortise.workflow.join_node",
    "Node": "mortise.workflow.custom_node",
    "NodeContext": "mortise.workflow.context",
    "NodeInterruptedError": "mortise.workflow.errors",
    "NodeRunner": "mortise.workflow.node_runner",
    "NodeState": "mortise.workflow.states",
    "NodeStatus": "mortise.workflow.states",
    "NodeTimeoutError": "mortise.workflow.errors",
    "ParallelWorker": "mortise.workflow.parallel_worker",
    "RetryConfig": "mortise.workflow.retry_config",
    "START": "mortise.workflow.base_node",
    "StateSchemaError": "mortise.workflow.errors",
    "ToolNode": "mortise.workflow.tool_node",
    "Workflow": "mortise.workflow.workflow",
    "node": "mortise.workflow.decorator",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
