"""What is handed in as a plugin runs its hooks, or is refused: none is silently off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest

from newel import Agent, App, InMemoryRunner
from newel.plugins import BasePlugin
from newel.testing import Conversation, ScriptedModel
from newel_kernel import LIFECYCLE, CompositionError, hookimpl


def runner(plugin: object) -> InMemoryRunner:
    return InMemoryRunner(Agent(name="a", model=ScriptedModel(["ok"])), plugins=[plugin])


def plain(hook: str) -> object:
    """An object of a class of its own, with a hook's method."""

    async def method(self: object, **keywords: object) -> None:
        raise AssertionError

    return type("Guard", (), {"name": "guard", hook: method})()


@pytest.mark.parametrize("hook", sorted(LIFECYCLE))
@pytest.mark.parametrize("app", [False, True], ids=["runner", "app"])
def test_hooks_of_another_base_class_are_refused(hook: str, app: bool) -> None:
    agent = Agent(name="a", model=ScriptedModel(["ok"]))
    given = {"app": App(name="app", root_agent=agent, plugins=[plain(hook)])} if app else {"agent": agent}
    with pytest.raises(CompositionError, match=rf"'guard' has hooks without @hookimpl.*{hook}"):
        InMemoryRunner(**given, plugins=None if app else [plain(hook)])


class Lazy:
    """Makes its hooks when they are asked for, so that nobody can list them."""

    name = "lazy"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in LIFECYCLE:
            raise AttributeError(name)
        return lambda **_: None


class Nothing:
    name = "nothing"


@pytest.mark.parametrize("plugin", [Lazy(), Nothing(), MagicMock(), object()], ids=lambda one: type(one).__name__)
def test_an_object_without_a_hook_is_refused(plugin: object) -> None:
    with pytest.raises(CompositionError, match="has no hook that would run; let its class be a subclass"):
        runner(plugin)


@pytest.mark.parametrize("hook", sorted(LIFECYCLE))
def test_a_misspelt_hook_is_refused(hook: str) -> None:
    wrong = hook.replace("callback", "calback")

    class Guard(BasePlugin):
        pass

    setattr(Guard, wrong, lambda self, **_: None)
    with pytest.raises(CompositionError, match=rf"method '{wrong}', which is not a hook.*did you mean '{hook}'"):
        runner(Guard("guard"))


def test_methods_of_its_own_and_no_hook_at_all_are_a_subclass_s_right() -> None:
    class Closing(BasePlugin):
        def on_close_callback(self) -> None: ...

        def before(self) -> None: ...

    assert asyncio.run(runner(Closing("closing")).run_debug("hi", quiet=True))


def test_marked_hooks_of_any_object_run() -> None:
    class Marked:
        name = "marked"
        ran = 0

        @hookimpl
        async def before_run_callback(self) -> None:
            self.ran += 1

    marked = Marked()
    asyncio.run(runner(marked).run_debug("hi", quiet=True))
    assert marked.ran == 1


def test_a_plugin_that_takes_the_names_of_its_signatures_from_the_base_module_runs() -> None:
    from newel.plugins.base_plugin import (
        BaseAgent,
        BasePlugin,
        BaseTool,
        CallbackContext,
        Event,
        InvocationContext,
        LlmRequest,
        LlmResponse,
        ToolContext,
        types,
    )

    class Budget(BasePlugin):
        seen: tuple[object, ...] = ()

        async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> Any:
            self.seen = (callback_context, llm_request)
            return LlmResponse(content=types.Content(role="model", parts=[types.Part(text="no")]))

    budget = Budget("budget")
    agent = Agent(name="a", model=ScriptedModel([]))
    assert Conversation(App(name="app", root_agent=agent, plugins=[budget])).say("hi").text == "no"
    assert isinstance(budget.seen[0], CallbackContext)
    assert isinstance(agent, BaseAgent)
    assert all(isinstance(one, type) for one in (BaseTool, Event, InvocationContext, ToolContext))
