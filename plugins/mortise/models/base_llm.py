"""The base of every model."""

from mortise_kernel.contracts.model import BaseLlm

__all__ = ["BaseLlm"]
