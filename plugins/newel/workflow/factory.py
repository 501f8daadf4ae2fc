"""Factory: makes nodes of functions, agents, tools and other nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from newel.workflow._base_node import START, START_NAME, BaseNode
from newel.workflow._function_node import FunctionNode
from newel.workflow._tool_node import ToolNode
from newel.workflow.agent_node import AgentNode
from newel_kernel import BaseAgent, BaseTool, Json

#: What a node can be made of; START is where a graph begins.
NodeLike: TypeAlias = BaseNode | BaseAgent | BaseTool | Callable[..., object] | Literal["START"]


def build_node(node_like: object, **changes: Any) -> BaseNode:
    """A node of a node, an agent, a tool, a function or the name START; `changes` are fields of it."""
    changes = {name: value for name, value in changes.items() if value is not None}
    own_code = isinstance(node_like, FunctionNode) or not isinstance(node_like, (BaseNode, BaseAgent, BaseTool))
    if "auth_config" in changes and not own_code:
        raise ValueError(
            f"auth_config is for a node of a function, not for {type(node_like).__name__} "
            f"{getattr(node_like, 'name', node_like)!r}: give the config to its tools or toolsets"
        )
    if isinstance(node_like, BaseNode):
        return _changed(node_like, changes) if changes else node_like
    if isinstance(node_like, BaseAgent):
        return AgentNode(node_like, **changes)
    if isinstance(node_like, BaseTool):
        return ToolNode(node_like, **changes)
    if isinstance(node_like, str) and node_like in ("START", START_NAME):
        return START
    if callable(node_like):
        return FunctionNode(node_like, **changes)
    raise ValueError(
        f"{node_like!r} ({type(node_like).__name__}) cannot be a node: use a node, an agent, a tool, a function "
        f"or 'START'"
    )


def _changed(node: BaseNode, changes: Json) -> BaseNode:
    if isinstance(node, FunctionNode):
        fields: Json = {name: getattr(node, name) for name in node.model_fields_set}
        return FunctionNode(**fields | changes)
    if isinstance(node, BaseAgent):
        return AgentNode(node, **changes)
    return node.model_copy(update=changes)
