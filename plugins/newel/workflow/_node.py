"""Another name of modules of `newel.workflow`."""

from newel.workflow.base_node import START
from newel.workflow.custom_node import Node
from newel.workflow.decorator import node

__all__ = ["START", "Node", "node"]
