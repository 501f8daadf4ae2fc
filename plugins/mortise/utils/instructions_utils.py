"""Filling instruction templates."""

from mortise.flows.templates import inject_session_state

__all__ = ["inject_session_state"]
