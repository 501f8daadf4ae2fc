"""Filling instruction templates."""

from newel.flows.templates import inject_session_state

__all__ = ["inject_session_state"]
