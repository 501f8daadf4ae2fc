"""The base of every model."""

from newel_kernel.contracts.model import BaseLlm

__all__ = ["BaseLlm"]
