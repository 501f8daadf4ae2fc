"""hook_timeout: a plugin's hook that hangs fails within its time, and its plugin and hook are named."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.testing import Conversation, ScriptedModel
from newel_compose import compose
from newel_kernel import ConfigurationError, PluginHookError, hookimpl


class Sleeper:
    """Hangs before each model call, after having waited a little before the run."""

    name = "sleeper"

    @hookimpl
    async def before_run_callback(self, invocation_context: Any) -> None:
        await asyncio.sleep(0)

    @hookimpl
    async def before_model_callback(self, callback_context: Any, llm_request: Any) -> None:
        await asyncio.Event().wait()


def house(folder: Path, settings: dict[str, Any]) -> Path:
    """A distribution over `standard` with settings of the plugin."""
    file = folder / "house.yaml"
    file.write_text(json.dumps({"extends": "standard", "settings": {"hook_timeout": settings}}))
    return file


def chat(distribution: Path, plugin: object) -> Conversation:
    waiter = LlmAgent(name="waiter", model=ScriptedModel(["tea"]))
    return Conversation(waiter, distribution=distribution, plugins=[plugin])


@pytest.mark.parametrize("settings", [{"seconds": 0.02}, {"seconds": 60, "hooks": {"before_model_callback": 0.02}}])
def test_a_hook_that_hangs_is_named(tmp_path: Path, settings: dict[str, Any]) -> None:
    async def run() -> None:
        match = r"'sleeper' .*did not end before_model_callback within 0.02 s; .*hook_timeout.seconds"
        with pytest.raises(PluginHookError, match=match):
            await chat(house(tmp_path, settings), Sleeper()).send("tea")

    asyncio.run(run())


def test_without_a_limit_nothing_stands_around_a_hook() -> None:
    (bound,) = compose("standard", plugins=[sleeper := Sleeper()]).hooks["before_model_callback"][0]
    assert bound.call == sleeper.before_model_callback


def test_a_time_out_of_the_hooks_own_stays_its_own(tmp_path: Path) -> None:
    class Impatient:
        name = "impatient"

        @hookimpl
        async def before_run_callback(self, invocation_context: Any) -> None:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()

    async def run() -> None:
        with pytest.raises(PluginHookError, match="failed in before_run_callback"):
            await chat(house(tmp_path, {"seconds": 60}), Impatient()).send("tea")

    asyncio.run(run())


def test_a_name_that_is_no_hook_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not a hook; did you mean 'before_model_callback'"):
        compose(house(tmp_path, {"hooks": {"before_modl_callback": 1}}))


@pytest.mark.parametrize("hook", ["before_agent_callback", "before_model_callback", "after_tool_callback"])
def test_an_agents_own_callback_that_hangs_is_named(tmp_path: Path, hook: str) -> None:
    async def hang(*values: Any, **named: Any) -> None:
        await asyncio.Event().wait()

    def pour() -> str:
        """Pour."""
        return "tea"

    fields: Any = {hook: hang, "tools": [pour]}
    waiter = LlmAgent(name="waiter", model=ScriptedModel([{"call": "pour"}, "tea"]), **fields)
    chat = Conversation(waiter, distribution=house(tmp_path, {"hooks": {hook: 0.02}}))
    match = rf"agent 'waiter', callback .*hang \({Path(__file__).name}:\d+\) did not end {hook} within 0\.02 s"
    with pytest.raises(PluginHookError, match=match):
        chat.say("tea")


def test_an_agents_own_callback_has_the_time_that_it_may_take(tmp_path: Path) -> None:
    async def wait(callback_context: Any) -> None:
        await asyncio.sleep(0)

    waiter = LlmAgent(name="waiter", model=ScriptedModel(["tea"]), before_agent_callback=[wait, wait])
    assert Conversation(waiter, distribution=house(tmp_path, {"seconds": 60})).say("tea").text == "tea"
