"""The base of every tool."""

from newel_kernel.contracts.tool import BaseTool, Effect

__all__ = ["BaseTool", "Effect"]
