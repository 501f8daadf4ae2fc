"""Chains made by hand, without a host: what is derived from them, and which step is whose."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from newel_kernel import (
    BaseTool,
    Chains,
    Descriptor,
    Epilogue,
    Observer,
    Prologue,
    RequestProcessor,
    ToolPolicy,
    ToolPreparation,
    TurnPolicy,
)


class Shelf:
    """A registry of these descriptors."""

    def __init__(self, *descriptors: Descriptor) -> None:
        self.descriptors = descriptors

    def all(self, kind: type[Any]) -> Sequence[Any]:
        return [one for one in self.descriptors if type(one) is kind]

    def find(self, kind: type[Any], name: str) -> Any:
        return next(one for one in self.all(kind) if one.name == name)

    def why_missing(self, kind: type[Descriptor]) -> str:
        return ""


def nothing(*_: Any) -> None:
    """Does nothing."""


def names(descriptors: Sequence[Descriptor]) -> list[str]:
    return [one.name for one in descriptors]


def test_what_stands_around_a_run_comes_from_the_registry_in_its_order() -> None:
    shelf = Shelf(
        Prologue(name="late", run=nothing, follows=True),
        Prologue(name="early", run=nothing),
        Epilogue(name="last", run=nothing),
        Observer(name="watch", notify=nothing),
        Epilogue(name="very last", run=nothing),
        Prologue(name="early too", run=nothing),
    )
    chains = Chains(registry=shelf)
    assert names(chains.prologues) == ["early", "early too"]
    assert names(chains.late_prologues) == ["late"]
    assert names(chains.epilogues) == ["last", "very last"]
    assert names(chains.observers) == ["watch"]


def test_the_policy_of_turns_is_the_one_of_that_name() -> None:
    mine = TurnPolicy(name="turns")
    assert Chains(registry=Shelf(TurnPolicy(name="other"), mine)).turns is mine
    default = Chains(registry=Shelf(TurnPolicy(name="other"))).turns
    assert default.name == "turns"
    assert default.waits(None) is False  # type: ignore[arg-type]
    assert list(default.transfer(None, None)) == []  # type: ignore[arg-type]
    assert list(asyncio.run(_awaited(default.interrupted(None, {})))) == []  # type: ignore[arg-type]


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


@pytest.mark.parametrize(
    ("hook", "agents", "models"),
    [
        ("before_agent_callback", True, False),
        ("after_agent_callback", True, False),
        ("on_model_error_callback", False, True),
        ("after_model_callback", False, True),
        ("before_tool_callback", False, False),
        ("on_event_callback", False, False),
    ],
)
def test_a_plugin_s_hooks_are_around_agents_or_their_models(hook: str, agents: bool, models: bool) -> None:
    chains = Chains(registry=Shelf(), hooks={hook: ((), ())})
    assert (chains.agents_hooked, chains.models_hooked) == (agents, models)


def test_the_first_tool_policy_is_the_outermost_and_the_tool_the_innermost() -> None:
    log: list[Any] = []

    class Kettle(BaseTool):
        async def run_async(self, *, args: Any, tool_context: Any) -> Any:
            log.append((args, tool_context))
            return "hot"

    def policy(name: str) -> ToolPolicy:
        def wrap(inner: Any) -> Any:
            async def call(tool: BaseTool, args: Any, context: Any) -> Any:
                log.append(name)
                return f"{name}({await inner(tool, args, context)})"

            return call

        return ToolPolicy(name=name, wrap=wrap)

    chains = Chains(registry=Shelf(), tool_chain=(policy("outer"), policy("inner")))
    context: Any = object()
    assert asyncio.run(_awaited(chains.call_tool(Kettle(name="kettle"), {"a": 1}, context))) == "outer(inner(hot))"
    assert log == ["outer", "inner", ({"a": 1}, context)]


class Cups(BaseModel):
    count: int = 1


class Pots(BaseModel):
    count: int = 2


def test_the_settings_of_a_plugin_are_its_own_or_the_defaults() -> None:
    chains = Chains(registry=Shelf(), settings={"cups": Cups(count=5)})
    assert chains.settings_of("cups", Cups) is chains.settings["cups"]
    assert chains.settings_of("cups", Pots) == Pots(count=2)  # another plugin has taken the name
    assert chains.settings_of("kettles", Cups) == Cups(count=1)


def test_steps_that_do_not_serve_an_app_are_left_out_for_it_once() -> None:
    def serves(app: Any) -> bool:
        return app is not None and app.name == "tea"

    step = RequestProcessor(name="always", run=nothing)
    for_tea = RequestProcessor(name="for tea", run=nothing, serves=serves)
    tools = ToolPreparation(name="tools", run=nothing)
    chains = Chains(registry=Shelf(tools), request_chain=(for_tea, step))
    tea, coffee = SimpleNamespace(name="tea"), SimpleNamespace(name="coffee")
    assert names(chains.request_steps) == ["for tea", "always", "tools"]
    assert chains.for_app(tea) is chains
    without = chains.for_app(coffee)
    assert names(without.request_steps) == ["always", "tools"]
    assert without is chains.for_app(None)
    assert names(chains.request_steps) == ["for tea", "always", "tools"]
