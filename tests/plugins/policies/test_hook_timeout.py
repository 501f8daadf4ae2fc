"""hook_timeout: a plugin's hook that hangs fails within its time, and its plugin and hook are named."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import newel_kernel
from newel.agents import LlmAgent
from newel.testing import Conversation, ScriptedModel
from newel_compose import Composition, StagePolicy, compose
from newel_kernel import CompositionError, ConfigurationError, PluginError, PluginHookError, hookimpl
from newel_types import FunctionCall


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


@pytest.mark.parametrize("times", [1, 3, 10**9])
def test_a_hook_that_swallows_its_cancellation_is_abandoned(
    tmp_path: Path, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("newel.policies.hook_timeout._GRACE", 0.02)

    class Stubborn:
        name = "stubborn"

        @hookimpl
        async def before_model_callback(self, callback_context: Any, llm_request: Any) -> None:
            for _ in range(times):
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    continue
            await asyncio.sleep(0)

    async def run() -> None:
        with pytest.raises(PluginHookError, match=r"'stubborn' .*did not end before_model_callback within 0.02 s"):
            await chat(house(tmp_path, {"seconds": 0.02}), Stubborn()).send("tea")
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(run())


def test_a_hook_may_clean_up_after_its_time(tmp_path: Path) -> None:
    cleaned = []

    class Tidy:
        name = "tidy"

        @hookimpl
        async def before_model_callback(self, callback_context: Any, llm_request: Any) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.01)
                cleaned.append("cup")

    async def run() -> None:
        with pytest.raises(PluginHookError, match=r"'tidy' .*did not end"):
            await chat(house(tmp_path, {"seconds": 0.02}), Tidy()).send("tea")

    asyncio.run(run())
    assert cleaned == ["cup"]


def test_a_run_that_is_cancelled_within_a_hook_ends_so(tmp_path: Path) -> None:
    async def run() -> None:
        task = asyncio.ensure_future(chat(house(tmp_path, {"seconds": 60}), Sleeper()).send("tea"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

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


# --- processors -------------------------------------------------------------------------------------------------------

STEPS = {
    "request_processors": ("RequestProcessor", {"after": ("contents",)}),
    "tool_preparations": ("ToolPreparation", {}),
    "response_processors": ("ResponseProcessor", {"before": ("planning",)}),
    "prologues": ("Prologue", {}),
    "epilogues": ("Epilogue", {}),
}


def waiting(hook: str, *, swallows: bool = False, for_agent: bool = False) -> object:
    """A plugin with a stage that hangs."""
    kind, place = STEPS[hook]

    async def run(*arguments: Any) -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if not swallows:
                    raise

    fields = {"for_agent": lambda agent: run} if for_agent else {}

    class Waiting:
        name = "waiting"

    def register(self: object) -> list[Any]:
        return [getattr(newel_kernel, kind)(name="slow", run=run, **place, **fields)]

    setattr(Waiting, f"register_{hook}", hookimpl(register))
    return Waiting()


def talk(distribution: Path, plugin: object) -> Conversation:
    """One whose distribution may name the plugin."""
    waiter = LlmAgent(name="waiter", model=ScriptedModel(["tea"]))
    return Conversation(waiter, distribution=compose(distribution, plugins=[plugin]))


@pytest.mark.parametrize("settings", [{"processors": 0.02}, {"processors": 60, "stages": {"slow": 0.02}}])
@pytest.mark.parametrize("swallows", [False, True])
@pytest.mark.parametrize("hook", STEPS)
def test_a_stage_that_hangs_is_named(
    tmp_path: Path, hook: str, swallows: bool, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("newel.policies.hook_timeout._GRACE", 0.02)
    plugin = waiting(hook, swallows=swallows)

    async def run() -> None:
        match = r"the stage 'slow' of the plugin 'waiting' .*did not end within 0.02 s; .*hook_timeout.processors"
        with pytest.raises(PluginError, match=match):
            await talk(house(tmp_path, settings), plugin).send("tea")

    asyncio.run(run())


def test_a_step_that_is_made_for_an_agent_has_the_limit_too(tmp_path: Path) -> None:
    async def run() -> None:
        plugin = waiting("request_processors", for_agent=True)
        with pytest.raises(PluginError, match=r"'slow' .*did not end within 0.02 s"):
            await talk(house(tmp_path, {"processors": 0.02}), plugin).send("tea")

    asyncio.run(run())


def names_of(composition: Composition, order: str) -> list[str]:
    return [one.stage.name for one in composition.placed[order] if order != "stage_policies"]


def test_what_is_in_time_runs_as_before(tmp_path: Path) -> None:
    def boil() -> str:
        """Boil water."""
        return "hot"

    file = house(tmp_path, {"processors": 60})
    model = ScriptedModel([FunctionCall(name="boil", args={}), "tea"])
    turn = Conversation(LlmAgent(name="waiter", model=model, tools=[boil]), distribution=file).say("tea")
    assert (turn.text, turn.results) == ("tea", [{"result": "hot"}])
    plain, limited = compose("standard"), compose(file)
    assert [names_of(limited, order) for order in plain.placed] == [names_of(plain, order) for order in plain.placed]
    assert limited.request_chain[0].run is not plain.request_chain[0].run
    assert not compose(house(tmp_path, {})).registry.all(StagePolicy)


def test_a_stage_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompositionError, match=r"names the stage 'compactoin' .*did you mean 'compaction'\?"):
        compose(house(tmp_path, {"stages": {"compactoin": 5}}))
