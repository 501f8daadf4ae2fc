"""The base of a live connection."""

from newel_kernel import BaseLlmConnection

__all__ = ["BaseLlmConnection"]
