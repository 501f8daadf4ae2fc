"""The base of a live connection."""

from mortise_kernel.contracts.model import BaseLlmConnection

__all__ = ["BaseLlmConnection"]
