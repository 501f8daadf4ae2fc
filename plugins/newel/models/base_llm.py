"""The base of every model."""

from newel.models.contract import BaseLlm

__all__ = ["BaseLlm"]
