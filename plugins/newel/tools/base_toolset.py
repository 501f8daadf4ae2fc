"""The base of a provider of tools."""

from newel_kernel.contracts.tool import BaseToolset

__all__ = ["BaseToolset"]
