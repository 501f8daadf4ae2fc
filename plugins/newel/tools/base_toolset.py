"""The base of a provider of tools."""

from newel_kernel import BaseToolset

__all__ = ["BaseToolset"]
