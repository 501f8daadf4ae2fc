"""`newel.tool`: a decorator, with and without arguments."""

from __future__ import annotations

import newel
from newel.tools import FunctionTool


def brew(leaves: str) -> str:
    """Brew tea."""
    return leaves


def test_without_arguments() -> None:
    made = newel.tool(brew)
    assert isinstance(made, FunctionTool)
    assert (made.name, made.func) == ("brew", brew)


def test_with_arguments() -> None:
    made = newel.tool(require_confirmation=True, effect="pure")(brew)
    assert made.name == "brew"
    assert made.effect == "pure"
