"""The base of a live connection."""

from newel_kernel.contracts.model import BaseLlmConnection

__all__ = ["BaseLlmConnection"]
