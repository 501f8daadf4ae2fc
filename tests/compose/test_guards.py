"""Guards: what the functions of a plugin raise or wrongly return names the plugin, the function and its line."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import pytest

from newel import Agent, run
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_kernel import (
    Epilogue,
    Event,
    HookSignatureError,
    NewelError,
    Observer,
    Prologue,
    RequestProcessor,
    ResponseProcessor,
    ResultProcessor,
    ToolPolicy,
    ToolPreparation,
    hookimpl,
)
from newel_types import FunctionCall

#: Hook -> what makes a descriptor of a function.
KINDS: dict[str, Any] = {
    "request_processors": lambda run: RequestProcessor(name="odd", run=run, after=("contents",)),
    "response_processors": lambda run: ResponseProcessor(name="odd", run=run, after=("planning",)),
    "result_processors": lambda run: ResultProcessor(name="odd", run=run, after=("output_schema",)),
    "tool_preparations": lambda run: ToolPreparation(name="odd", run=run),
    "prologues": lambda run: Prologue(name="odd", run=run),
    "epilogues": lambda run: Epilogue(name="odd", run=run),
}


async def five(*args: object) -> Any:
    return 5


def plain_five(*args: object) -> Any:
    return 5


async def raising(*args: object) -> Any:
    raise ValueError("boom")


def plain_raising(*args: object) -> Any:
    raise ValueError("boom")


class Raising:
    """An object that can be called and awaited for."""

    async def __call__(self, *args: object) -> Any:
        raise ValueError("boom")


class Noted(ValueError):
    """An error that says something of its own."""

    def __init__(self) -> None:
        super().__init__("boom")
        self.add_note("have tea")


async def noted(*args: object) -> Any:
    raise Noted


def giving(hook: str, *descriptors: object) -> Any:
    """A plugin `mine` with these descriptors."""
    plugin = type("Mine", (), {f"register_{hook}": hookimpl(lambda self: list(descriptors))})()
    plugin.name = "mine"
    return plugin


def line(function: Any) -> int:
    return inspect.getsourcelines(function)[1]


def serve() -> str:
    """Serves."""
    return "tea"


def ask(*plugins: object) -> str:
    agent = Agent(name="waiter", model=ScriptedModel([FunctionCall(name="serve"), "tea"]), tools=[serve])
    return str(run(agent, "tea", plugins=plugins))


def who(hook: str) -> str:
    return f"the {hook.removesuffix('s').replace('_', ' ')} 'odd' of the plugin 'mine' (given directly, {__name__})"


@pytest.mark.parametrize("hook", KINDS)
@pytest.mark.parametrize("function", [five, plain_five])
def test_a_wrong_result_names_plugin_function_file_and_line(hook: str, function: Any) -> None:
    with pytest.raises(HookSignatureError) as caught:
        ask(giving(hook, KINDS[hook](function)))
    place = f"{function.__name__} (test_guards.py:{line(function)})"
    assert str(caught.value).startswith(f"{who(hook)}: {place} returned int; ")


@pytest.mark.parametrize("hook", KINDS)
@pytest.mark.parametrize("function", [raising, plain_raising, Raising()])
def test_an_error_keeps_its_type_and_names_its_plugin(hook: str, function: Any) -> None:
    with pytest.raises(ValueError, match="boom") as caught:
        ask(giving(hook, KINDS[hook](function)))
    assert caught.value.__notes__ == [f"raised in {who(hook)}"]


def test_an_error_with_a_note_of_its_own_names_its_plugin_too() -> None:
    with pytest.raises(Noted) as caught:
        ask(giving("prologues", KINDS["prologues"](noted)))
    assert caught.value.__notes__ == ["have tea", f"raised in {who('prologues')}"]


@pytest.mark.parametrize("hook", KINDS)
def test_what_is_right_is_left_alone(hook: str) -> None:
    called = []

    def plain(*args: object) -> None:
        called.append("plain")

    async def awaited(*args: object) -> Sequence[Event]:
        called.append("awaited")
        return []

    for function in (plain, awaited):
        assert ask(giving(hook, KINDS[hook](function))) == "tea"
    assert set(called) == {"plain", "awaited"}


def test_what_is_made_for_an_agent_is_guarded_too() -> None:
    step = RequestProcessor(name="odd", run=five, after=("contents",), for_agent=lambda agent: five)
    with pytest.raises(HookSignatureError, match=r"'odd' of the plugin 'mine'.* five .* returned int"):
        ask(giving("request_processors", step))


@pytest.mark.parametrize("question", ["applies_to", "serves", "for_agent"])
def test_a_question_that_raises_names_its_plugin(question: str) -> None:
    step: Any = RequestProcessor(name="odd", run=five, after=("contents",), **{question: plain_raising})
    with pytest.raises(ValueError, match="boom") as caught:
        ask(giving("request_processors", step))
    assert caught.value.__notes__ == [f"raised in {who('request_processors')}"]


@pytest.mark.parametrize(
    ("hook", "descriptor", "words"),
    [
        ("prologues", Prologue(name="odd", run=3), "returned 'odd' with run=3, which cannot be called"),  # type: ignore[arg-type]
        ("observers", Observer(name="odd", notify=line.__call__, wanted=line), "'odd' with wanted=line(function: "),  # type: ignore[arg-type]
        ("tool_policies", ToolPolicy(name="odd", wrap=lambda: None, after=("claims",)), "must take (call_tool)"),  # type: ignore[arg-type,misc]
        ("tool_policies", ToolPolicy(name="odd", wrap=lambda call: 3, after=("claims",)), "returned int; it must"),  # type: ignore[arg-type,return-value]
    ],
)  # fmt: skip
def test_what_cannot_be_called_is_refused_when_composing(hook: str, descriptor: Any, words: str) -> None:
    with pytest.raises(NewelError) as caught:
        compose("standard", plugins=[giving(hook, descriptor)])
    assert words in str(caught.value)
    assert "'mine'" in str(caught.value)


class Watcher(Observer):
    """An observer with a constructor of its own."""

    def __init__(self, seen: list[object]) -> None:
        super().__init__(name="watcher", notify=seen.append)


def test_a_class_of_descriptors_may_have_a_constructor_of_its_own() -> None:
    seen: list[object] = []
    assert ask(giving("observers", Watcher(seen))) == "tea"
    assert seen
