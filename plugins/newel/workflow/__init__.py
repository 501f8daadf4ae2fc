"""Workflows: graphs of functions, tools, agents and other workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.workflow._base_node import START as START
    from newel.workflow._base_node import BaseNode as BaseNode
    from newel.workflow._errors import DynamicNodeFailError as DynamicNodeFailError
    from newel.workflow._errors import NodeInterruptedError as NodeInterruptedError
    from newel.workflow._errors import NodeTimeoutError as NodeTimeoutError
    from newel.workflow._errors import StateSchemaError as StateSchemaError
    from newel.workflow._function_node import FunctionNode as FunctionNode
    from newel.workflow._graph import Graph as Graph
    from newel.workflow._join_node import JoinNode as JoinNode
    from newel.workflow._node import Node as Node
    from newel.workflow._node import node as node
    from newel.workflow._node_runner import NodeRunner as NodeRunner
    from newel.workflow._node_state import NodeState as NodeState
    from newel.workflow._node_status import NodeStatus as NodeStatus
    from newel.workflow._parallel_worker import ParallelWorker as ParallelWorker
    from newel.workflow._retry_config import RetryConfig as RetryConfig
    from newel.workflow._tool_node import ToolNode as ToolNode
    from newel.workflow._workflow import Workflow as Workflow
    from newel.workflow.context import NodeContext as NodeContext
    from newel.workflow.edges import DEFAULT_ROUTE as DEFAULT_ROUTE
    from newel.workflow.edges import Edge as Edge

_WHERE = {
    "BaseNode": "newel.workflow._base_node",
    "DEFAULT_ROUTE": "newel.workflow.edges",
    "DynamicNodeFailError": "newel.workflow._errors",
    "Edge": "newel.workflow.edges",
    "FunctionNode": "newel.workflow._function_node",
    "Graph": "newel.workflow._graph",
    "JoinNode": "newel.workflow._join_node",
    "Node": "newel.workflow._node",
    "NodeContext": "newel.workflow.context",
    "NodeInterruptedError": "newel.workflow._errors",
    "NodeRunner": "newel.workflow._node_runner",
    "NodeState": "newel.workflow._node_state",
    "NodeStatus": "newel.workflow._node_status",
    "NodeTimeoutError": "newel.workflow._errors",
    "ParallelWorker": "newel.workflow._parallel_worker",
    "RetryConfig": "newel.workflow._retry_config",
    "START": "newel.workflow._base_node",
    "StateSchemaError": "newel.workflow._errors",
    "ToolNode": "newel.workflow._tool_node",
    "Workflow": "newel.workflow._workflow",
    "node": "newel.workflow._node",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
