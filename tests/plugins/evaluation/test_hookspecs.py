"""The examples of the room's hooks run, and each hook has its kind."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from newel.evaluation import kinds, plugin
from newel.evaluation.plugins import GROUP, brought_by, composed
from newel_compose import compose
from newel_kernel import CompositionError, NewelError, hookimpl

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


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("disable: [trajectoy]", "`disable` names the plugin 'trajectoy', .*; did you mean 'trajectory'"),
        ("settings: {ruubrics: {x: 1}}", "`settings` names the plugin 'ruubrics', .*; did you mean 'rubrics'"),
        ("plugins: [checks]", "the plugin 'checks' under `plugins`, which takes part by itself .*leave it out"),
        ("replace: {contains: cheks}", "`replace` names the plugin 'cheks', .*; did you mean 'checks'"),
    ],
)
def test_a_misspelt_plugin_of_evaluations_is_refused(extending: Any, body: str, words: str) -> None:
    for groups in ((), (GROUP,)):
        with pytest.raises(CompositionError, match=words):
            compose(extending("adk", body), groups=groups)


def test_what_an_evaluation_cannot_take_is_refused_there(extending: Any) -> None:
    for body, words in (
        ("settings: {rubrics: {x: 1}}", r"the plugin 'rubrics' \(newel .*\) has no settings"),
        ("replace: {contains: rubrics}", "`replace` takes 'contains' from 'rubrics', a plugin that does not provide"),
    ):
        with pytest.raises(NewelError, match=words):
            compose(extending("adk", body), groups=(GROUP,))


def test_a_metric_that_the_distribution_disables_is_told_so(extending: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_DISTRIBUTION", str(extending("adk", "disable: [response_match]")))
    composed.cache_clear()
    try:
        assert brought_by("response_match_score").endswith("disables: take it out of `disable`")
    finally:
        composed.cache_clear()
