"""The base of a provider of tools."""

from mortise_kernel.contracts.tool import BaseToolset

__all__ = ["BaseToolset"]
