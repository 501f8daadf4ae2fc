"""The base of every tool."""

from newel_kernel import BaseTool, Effect

__all__ = ["BaseTool", "Effect"]
