"""The base of every tool."""

from mortise_kernel.contracts.tool import BaseTool, Effect

__all__ = ["BaseTool", "Effect"]
