"""The examples of the room's hooks run, and each hook has its kind."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from newel.evaluation import kinds, plugin
from newel_compose import compose
from newel_kernel import hookimpl

HOOKS = [one for name, one in vars(kinds).items() if name.startswith("register_")]


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: str(hook.__name__))
def test_the_example_of_a_hook_runs(hook: Callable[..., Any]) -> None:
    names = {**vars(kinds), "compose": compose, "hookimpl": hookimpl}
    text = inspect.getdoc(hook) or ""
    example = doctest.DocTestParser().get_doctest(text, names, hook.__name__, None, 0)
    assert example.examples
    runner = doctest.DocTestRunner()
    assert runner.run(example).failed == 0


def test_each_hook_has_its_kind() -> None:
    assert {kind.hook for kind in plugin.register_kinds()} == {hook.__name__ for hook in HOOKS}
