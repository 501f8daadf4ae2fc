"""`newel.tool`: a decorator, with and without arguments."""

from __future__ import annotations

from typing import Any

import pytest

import newel
from newel.tools import FunctionTool
from newel_kernel import ConfigurationError


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


def test_a_name_and_a_timeout() -> None:
    made = newel.tool(name="make_tea", timeout=3)(brew)
    assert (made.name, made.timeout) == ("make_tea", 3)  # type: ignore[attr-defined]
    assert made._get_declaration().name == "make_tea"
    assert FunctionTool(brew, name="tea", timeout=0).timeout == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timout": 3}, "@tool has no option 'timout'; did you mean 'timeout'?"),
        ({"effect": "pur"}, "@tool(effect='pur'): there is no effect 'pur'; did you mean 'pure'?"),
        ({"timeout": -1}, "@tool(timeout=-1): a timeout is a number of seconds, 0 for no limit"),
        ({"timeout": "soon"}, "@tool(timeout='soon'): Input should be a valid number"),
        ({"name": "make tea"}, "@tool(name='make tea'): a tool's name has letters, digits"),
        ({"require_confirmation": "maybe"}, "@tool(require_confirmation='maybe'):"),
    ],
)
def test_wrong_options(options: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        newel.tool(**options)
    assert str(caught.value).startswith(message)
