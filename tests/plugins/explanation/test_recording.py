"""A recorded turn: every step with its edits, which together make the request that the model gets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from newel.agents import LlmAgent, ParallelAgent
from newel.apps import App
from newel.explanation import Explanation, Recorder, Rehearsal, applied, copied, record, rehearse
from newel.plugins import BasePlugin
from newel.runners import InMemoryRunner, Runner
from newel.testing import ScriptedModel
from newel_kernel import Event, LlmResponse, RequestProcessor, ToolPreparation, hookimpl
from newel_types import Content, Part

Requests = list[Any]


def weather(city: str, token: str = "") -> str:
    """The weather of a city."""
    return f"sunny in {city}"


def shape(request: Any) -> tuple[Any, ...]:
    contents = [content.model_dump(mode="json") for content in list.copy(request.contents)]
    return request.model, contents, request.config.model_dump(mode="json"), sorted(request.tools_dict)


class Steps:
    """A processor and a preparation of a stranger's plugin."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails

    @hookimpl
    def register_request_processors(self) -> list[Any]:
        async def note(ctx: Any, request: Any) -> Sequence[Event]:
            if self.fails:
                raise ValueError("the secret of the plugin")
            request.append_instruction("noted")
            if any("already" in (part.text or "") for content in request.contents for part in content.parts):
                return []
            return [Event(author="a", invocation_id=ctx.invocation_id, content=Content(parts=[Part(text="already")]))]

        return [RequestProcessor(name="note", run=note, after=("contents",))]

    @hookimpl
    def register_tool_preparations(self) -> list[Any]:
        return [ToolPreparation(name="late", run=lambda ctx, request: request.append_instruction("late"))]


class Prefix(BasePlugin):
    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> LlmResponse | None:
        llm_request.append_instructions(["by a plugin"])
        return None


def agent(**fields: Any) -> LlmAgent:
    fields = {"model": ScriptedModel(["one", "two"]), "instruction": "Be nice.", "tools": [weather]} | fields
    return LlmAgent(name="a", **fields)


async def turns(runner: Runner, *texts: str) -> None:
    await runner.session_service.create_session(app_name=runner.app_name, user_id="u", session_id="s")
    for text in texts:
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=text):
            pass


def rehearsed(root: Any, plugins: Sequence[Any] = (), text: str = "hi") -> Rehearsal:
    async def run() -> Rehearsal:
        store = await copied(None, "app", "u", "s")
        runner = Runner(app=App(name="app", root_agent=root, plugins=list(plugins)), session_service=store)
        try:
            return await rehearse(runner, "u", "s", text)
        finally:
            await runner.close()

    return asyncio.run(run())


def consistent(explanations: Sequence[Explanation]) -> None:
    for one in explanations:
        assert applied(one.before, [change for step in one.steps for change in step.changes]) == one.after


def own(callback_context: Any, llm_request: Any) -> None:
    llm_request.append_instructions(["by the agent"])


@pytest.mark.parametrize("callbacks", [None, own, [own, own]])
@pytest.mark.parametrize("plugins", [[], [Prefix("prefix")], [Steps()], [Steps(), Prefix("prefix")]])
def test_the_recorded_turns_ask_the_same(callbacks: Any, plugins: list[Any]) -> None:
    asked = []
    explained = []
    for recording in (False, True):
        model = ScriptedModel(["one", "two"])
        root = agent(model=model, before_model_callback=callbacks)
        runner = InMemoryRunner(app=App(name="app", root_agent=root, plugins=plugins))
        recorder = Recorder()
        if recording:
            record(runner, recorder)
        asyncio.run(turns(runner, "hi", "and?"))
        asked.append([shape(request) for request in model.requests])
        explained = recorder.explanations()
    assert asked[0] == asked[1]
    assert len(explained) == 2
    consistent(explained)
    for one, (model_name, contents, config, names) in zip(explained, asked[0], strict=True):
        assert one.called
        assert one.after["model"] == model_name
        assert [c["parts"][0]["text"] for c in one.after["contents"]] == [c["parts"][0]["text"] for c in contents]
        assert one.after["system_instruction"] == config["system_instruction"]
        assert one.after["callable"] == names


def test_each_edit_belongs_to_the_step_that_made_it() -> None:
    (one,) = rehearsed(agent(before_model_callback=own), [Steps(), Prefix("prefix")]).explanations
    by_instruction = {
        change.after.splitlines()[-1]: step
        for step in one.steps
        for change in step.changes
        if change.path == "/system_instruction"
    }
    note = by_instruction["noted"]
    assert (note.kind, note.name, note.events) == ("processor", "note", 1)
    late = by_instruction["late"]
    assert (late.kind, late.name) == ("preparation", "late")
    assert late.plugin == note.plugin != ""
    prefix = by_instruction["by a plugin"]
    assert (prefix.kind, prefix.plugin) == ("callback", "prefix")
    assert (by_instruction["by the agent"].kind, by_instruction["by the agent"].name) == ("callback", "a")
    basic = next(step for step in one.steps if step.name == "basic")
    assert (basic.package, basic.version) == ("newel", "0.1.0")
    tools = next(step for step in one.steps if step.kind == "tools")
    assert [change.path for change in tools.changes] == ["/tools", "/callable"]
    assert all(step.seconds >= 0 for step in one.steps)
    order = [step.name for step in one.steps]
    assert order.index("contents") < order.index("note") < order.index("late") < order.index("prefix")


def test_a_rehearsal_asks_no_model_and_calls_no_tool() -> None:
    model = ScriptedModel([])
    rehearsal = rehearsed(agent(model=model))
    assert rehearsal.error is None
    assert [one.called for one in rehearsal.explanations] == [True]
    assert model.requests == []


def test_a_step_that_fails_is_the_last_and_says_no_more_than_the_type() -> None:
    rehearsal = rehearsed(agent(), [Steps(fails=True)])
    (one,) = rehearsal.explanations
    assert not one.called
    assert (one.steps[-1].name, one.steps[-1].error) == ("note", "ValueError")
    assert "the secret" in str(rehearsal.error)
    assert "the secret" not in str(one.as_json())


def test_a_callback_that_answers() -> None:
    class Answering(BasePlugin):
        async def before_model_callback(self, **_: Any) -> LlmResponse:
            return LlmResponse(content=Content(role="model", parts=[Part(text="mine")]))

    rehearsal = rehearsed(agent(), [Answering("answering")])
    (one,) = rehearsal.explanations
    assert (one.called, one.steps[-1].plugin, one.steps[-1].answered) == (False, "answering", True)
    assert rehearsal.error is None


def test_agents_side_by_side_have_a_recording_each() -> None:
    async def run() -> list[Explanation]:
        names = ("x", "y", "z")
        agents = [LlmAgent(name=name, model=ScriptedModel("hi"), instruction=f"You are {name}.") for name in names]
        runner = InMemoryRunner(ParallelAgent(name="all", sub_agents=agents))
        record(runner, recorder := Recorder())
        await turns(runner, "hi")
        return recorder.explanations("s")

    explanations = asyncio.run(run())
    consistent(explanations)
    for one in explanations:
        assert one.after["system_instruction"].startswith(f"You are {one.agent}.")
        assert one.branch is not None
    assert sorted(one.agent for one in explanations) == ["x", "y", "z"]


def test_only_the_latest_are_kept() -> None:
    async def run() -> list[Explanation]:
        runner = InMemoryRunner(agent(model=ScriptedModel(["answer"] * 5)))
        record(runner, recorder := Recorder(most=2))
        await turns(runner, *"abcde")
        assert recorder.explanations("another") == []
        return recorder.explanations()

    assert [one.after["contents"][-1]["parts"][0]["text"] for one in asyncio.run(run())] == ["d", "e"]


def test_a_runner_without_a_recorder_runs_what_it_ran_before() -> None:
    root = agent()
    plain, watched = InMemoryRunner(root), InMemoryRunner(root)
    record(watched, Recorder())
    again = InMemoryRunner(root)
    assert again.composition is plain.composition
    assert watched.composition is not plain.composition
    assert [step.name for step in watched.composition.request_steps] == [
        step.name for step in plain.composition.request_steps
    ]


def test_secrets_are_withheld() -> None:
    async def run() -> Explanation:
        root = agent(
            generate_content_config={"http_options": {"headers": {"Authorization": "Bearer abcdef"}}},
            instruction="Be nice.",
        )
        store = await copied(None, "app", "u", "s")
        rehearsal = await rehearse(Runner(agent=root, app_name="app", session_service=store), "u", "s", "hi")
        return rehearsal.explanations[0]

    one = asyncio.run(run())
    assert "abcdef" not in str(one.as_json())
    declared = one.after["tools"][0]["function_declarations"][0]["parameters_json_schema"]
    assert declared["properties"]["token"]["type"] == "string"
