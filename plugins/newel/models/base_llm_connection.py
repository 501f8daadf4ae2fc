"""The base of a live connection."""

from newel.models.contract import BaseLlmConnection

__all__ = ["BaseLlmConnection"]
