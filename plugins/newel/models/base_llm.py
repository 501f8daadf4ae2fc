"""The base of every model."""

from newel_kernel import BaseLlm

__all__ = ["BaseLlm"]
