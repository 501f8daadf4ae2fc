"""Another name of modules of `mortise.workflow`."""

from mortise.workflow.base_node import START
from mortise.workflow.custom_node import Node
from mortise.workflow.decorator import node

__all__ = ["START", "Node", "node"]
