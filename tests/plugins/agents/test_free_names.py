"""Names of a subclass: what google-adk's agents do not use is free for fields, methods, properties and private ones."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from pydantic import BaseModel, PrivateAttr, create_model

from newel.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from newel.agents.llm_driver import LlmDriver
from newel.testing import Conversation, ScriptedModel
from newel_kernel import Event, Plan
from newel_types import Content, FunctionCall, Part

#: The public names of google-adk 2.13's agents, and the private ones that its subclasses implement.
ADK = """
    after_agent_callback after_model_callback after_tool_callback before_agent_callback before_model_callback
    before_tool_callback canonical_model canonical_tools clone code_executor config_type description
    disallow_transfer_to_parent disallow_transfer_to_peers find_agent find_sub_agent generate_content_config
    global_instruction include_contents input_schema instruction max_iterations mode model name on_model_error_callback
    on_tool_error_callback output_key output_schema parent_agent planner root_agent run_async run_live
    static_instruction sub_agents tools _create_agent_state_event _load_agent_state _run_async_impl _run_live_impl
"""
#: Names that authors give to what their agents keep and do.
COMMON = """
    answer as_tools budget cache callbacks chain children config context count data driver edits enter events goal
    history hooked hooks id items kind logger memory messages metadata model_for new_request node notes notes_end
    origin owner parent plain_tools plan policy prompt result root role runner session settings state status steps
    store tags task tools_used transfers turns version walk work workflow
    _adapted _callback_cache _has_modes _plain _plan _resolution _resumable _save_output _state _state_event _turns
    _valid_name _work
"""
#: The names that newel's own machinery has, wherever it keeps them.
OURS = {
    name
    for kind in (LlmDriver, Plan)
    for name in dir(kind)
    if not name.startswith("__") and not hasattr(BaseModel, name)
}
NAMES = sorted({*COMMON.split(), *OURS} - {*ADK.split()})


@pytest.mark.parametrize("kind", [BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent])
def test_an_agent_class_has_the_names_of_google_adk_only(kind: type[BaseAgent]) -> None:
    names = {*dir(kind), *kind.model_fields} - {*dir(BaseModel), *ADK.split()}
    assert {name for name in names if not (name.startswith("__") and name.endswith("__"))} == {"_repr_mimebundle_"}


def made(base: type[Any], name: str, form: str) -> type[Any]:
    """A subclass that uses `name`."""
    if form == "field":
        if name.startswith("_"):
            return type("Own", (base,), {"__annotations__": {name: "list[str]"}, name: PrivateAttr([])})
        return create_model("Own", __base__=base, **{name: (list[str], [])})

    def own(self: Any, *args: Any) -> Any:
        raise AssertionError(f"newel used the subclass's own {name}")

    return type("Own", (base,), {name: property(own) if form == "property" else own})


FORMS = ("field", "method", "property")


def kept() -> tuple[list[str], dict[str, Callable[..., None]]]:
    """A log, and callbacks around everything that write to it."""
    log: list[str] = []

    def noting(hook: str) -> Callable[..., None]:
        def note(**_: Any) -> None:
            log.append(hook)

        return note

    hooks = [f"{when}_{what}_callback" for what in ("agent", "model", "tool") for when in ("before", "after")]
    return log, {hook: noting(hook) for hook in hooks}


def count(word: str) -> int:
    """The letters of a word."""
    return len(word)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_an_llm_agent_works_whatever_its_class_calls_its_own(name: str, form: str) -> None:
    kind = made(LlmAgent, name, form)
    log, callbacks = kept()
    script = [
        FunctionCall(name="count", args={"word": "tea"}),
        transfer("desk"),
        "At the desk.",
        transfer("house"),
        "ok",
    ]
    model = ScriptedModel(script)
    desk = kind(name="desk", model=model, description="The desk.")
    house = kind(name="house", model=model, tools=[count], sub_agents=[desk], output_key="said", **callbacks)
    conversation = Conversation(house)
    first, second = conversation.say("hi"), conversation.say("back")
    assert [event.author for event in first] == ["house"] * 4 + ["desk"]
    assert (first.results[0], first.text) == ({"result": 3}, "At the desk.")
    assert second.text == "ok"
    assert {*log} == {*callbacks}
    assert conversation.session.state["said"] == "ok"
    assert kind.model_validate(house.clone()).find_agent("desk") is not desk


def transfer(name: str) -> FunctionCall:
    return FunctionCall(name="transfer_to_agent", args={"agent_name": name})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_agents_of_other_kinds_work_whatever_their_classes_call_their_own(name: str, form: str) -> None:
    class Speaking(BaseAgent):
        """Says its name."""

        async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
            content = Content(role="model", parts=[Part(text=self.name)])
            yield Event(invocation_id=ctx.invocation_id, author=self.name, branch=ctx.branch, content=content)

    speaking = made(Speaking, name, form)
    names = iter("abcdef")

    def pair() -> list[BaseAgent]:
        return [speaking(name=next(names)), speaking(name=next(names))]

    root = made(SequentialAgent, name, form)(
        name="root",
        sub_agents=[
            made(kind, name, form)(name=kind.__name__, sub_agents=pair(), **fields)
            for kind, fields in ((SequentialAgent, {}), (ParallelAgent, {}), (LoopAgent, {"max_iterations": 1}))
        ],
    )
    assert Conversation(root).say("hi").texts == list("abcdef")
