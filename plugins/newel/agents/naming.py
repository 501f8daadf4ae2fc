"""Naming agents in errors: which one it is, and where the user's files make it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from newel_kernel import BaseAgent, NewelError
from newel_types import made_at


def named(agent: BaseAgent) -> str:
    """``agent 'clerk' (desk.py:12)``; without the place if it is not known, as for an agent that a function names."""
    return f"agent {agent.name!r}{made_at(agent.name, type(agent).__name__, 'Agent')}"


@contextmanager
def naming(agent: BaseAgent) -> Iterator[None]:
    """Say in an error of the block whose it is."""
    try:
        yield
    except NewelError as error:
        reword(error, f"{named(agent)}: {error}")
        raise


def reword(error: NewelError, text: str) -> None:
    """Change the text of an error; what else it holds stays."""
    error.args = (text, *error.args[1:])
