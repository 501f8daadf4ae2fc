"""Workflows: graphs of functions, tools, agents and other workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.workflow.base_node import START as START
    from newel.workflow.base_node import BaseNode as BaseNode
    from newel.workflow.context import NodeContext as NodeContext
    from newel.workflow.custom_node import Node as Node
    from newel.workflow.decorator import node as node
    from newel.workflow.edges import DEFAULT_ROUTE as DEFAULT_ROUTE
    from newel.workflow.edges import Edge as Edge
    from newel.workflow.errors import DynamicNodeFailError as DynamicNodeFailError
    from newel.workflow.errors import NodeInterruptedError as NodeInterruptedError
    from newel.workflow.errors import NodeTimeoutError as NodeTimeoutError
    from newel.workflow.errors import StateSchemaError as StateSchemaError
    from newel.workflow.function_node import FunctionNode as FunctionNode
    from newel.workflow.graph import Graph as Graph
    from newel.workflow.join_node import JoinNode as JoinNode
    from newel.workflow.node_runner import NodeRunner as NodeRunner
    from newel.workflow.parallel_worker import ParallelWorker as ParallelWorker
    from newel.workflow.retry_config import RetryConfig as RetryConfig
    from newel.workflow.states import NodeState as NodeState
    from newel.workflow.states import NodeStatus as NodeStatus
    from newel.workflow.tool_node import ToolNode as ToolNode
    from newel.workflow.workflow import Workflow as Workflow

_WHERE = {
    "BaseNode": "newel.workflow.base_node",
    "DEFAULT_ROUTE": "newel.workflow.edges",
    "DynamicNodeFailError": "newel.workflow.errors",
    "Edge": "newel.workflow.edges",
    "FunctionNode": "newel.workflow.function_node",
    "Graph": "newel.workflow.graph",
    "JoinNode": "newel.workflow.join_node",
    "Node": "newel.workflow.custom_node",
    "NodeContext": "newel.workflow.context",
    "NodeInterruptedError": "newel.workflow.errors",
    "NodeRunner": "newel.workflow.node_runner",
    "NodeState": "newel.workflow.states",
    "NodeStatus": "newel.workflow.states",
    "NodeTimeoutError": "newel.workflow.errors",
    "ParallelWorker": "newel.workflow.parallel_worker",
    "RetryConfig": "newel.workflow.retry_config",
    "START": "newel.workflow.base_node",
    "StateSchemaError": "newel.workflow.errors",
    "ToolNode": "newel.workflow.tool_node",
    "Workflow": "newel.workflow.workflow",
    "node": "newel.workflow.decorator",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
