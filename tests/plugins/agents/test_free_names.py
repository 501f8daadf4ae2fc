"""Names of a subclass: what google-adk's agents do not use is free for fields, methods, properties and private ones."""

from __future__ import annotations

from abc import ABC
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from pydantic import BaseModel, PrivateAttr, create_model

from newel.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from newel.agents.llm_driver import LlmDriver
from newel.models import BaseLlm
from newel.testing import Conversation, ScriptedModel
from newel.tools import BaseTool, FunctionTool
from newel.tools.base_toolset import BaseToolset
from newel.tools.function_tool import FunctionState
from newel.workflow import BaseNode, Workflow
from newel_kernel import Event, Plan
from newel_types import Content, FunctionCall, FunctionDeclaration, Part

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
    for kind in (LlmDriver, Plan, FunctionState)
    for name in dir(kind)
    if not name.startswith("__") and not hasattr(BaseModel, name)
}
NAMES = sorted({*COMMON.split(), *OURS} - {*ADK.split()})


#: The names of newel that a tool, a toolset, a model or a node may set, and that are documented.
EXTENSIONS = {"deps_type", "effect", "timeout", "networked", "provider_name", "_repr_mimebundle_"}
#: Class -> the further names of google-adk 2.13's class of that name.
KINDS: dict[type[Any], str] = {
    BaseAgent: "",
    LlmAgent: "",
    LoopAgent: "",
    ParallelAgent: "",
    SequentialAgent: "",
    BaseTool: "custom_metadata is_long_running process_llm_request _defers_response _get_declaration",
    FunctionTool: (
        "custom_metadata func is_long_running process_llm_request _defers_response _get_declaration "
        "_require_confirmation"
    ),
    BaseToolset: (
        "close get_auth_config get_tools get_tools_with_prefix process_llm_request tool_filter tool_name_prefix "
        "_is_tool_selected"
    ),
    BaseLlm: "capabilities connect generate_content_async supported_models",
    BaseNode: (
        "rerun_on_resume retry_config run state_schema timeout wait_for_output _requires_all_predecessors _run_impl "
        "_validate_input_data _validate_output_data"
    ),
    Workflow: (
        "edges graph max_concurrency rerun_on_resume retry_config run state_schema timeout wait_for_output "
        "_requires_all_predecessors _run_impl _validate_input_data _validate_output_data"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_has_the_names_of_google_adk_only(kind: type[Any]) -> None:
    made = FunctionTool(count) if kind is FunctionTool else None
    names = {*dir(kind), *getattr(kind, "model_fields", ()), *getattr(made, "__dict__", ())}
    own = names - {*dir(BaseModel), *dir(ABC), "_abc_impl", *ADK.split(), *KINDS[kind].split()}
    assert {name for name in own if not (name.startswith("__") and name.endswith("__"))} <= EXTENSIONS


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


@pytest.mark.parametrize("form", ["attribute", "method", "property"])
@pytest.mark.parametrize("name", NAMES)
def test_tools_work_whatever_their_classes_call_their_own(name: str, form: str) -> None:

    class Counting(BaseTool):
        """Counts letters."""

        def _get_declaration(self) -> FunctionDeclaration:
            return FunctionDeclaration(name=self.name)

        async def run_async(self, *, args: Any, tool_context: Any) -> int:
            return len(args["word"])

    class One(BaseToolset):
        """One tool."""

        async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
            return [inside]

    def use(kind: type[Any], *args: Any, **fields: Any) -> Any:
        if form != "attribute":
            return made(kind, name, form)(*args, **fields)
        tool = kind(*args, **fields)
        setattr(tool, name, "mine")
        return tool

    inside = use(Counting, name="inside")
    tools = [use(FunctionTool, count), use(Counting, name="plain"), use(One), use(One, tool_name_prefix="more")]
    calls = [FunctionCall(name=one, args={"word": "tea"}) for one in ("count", "plain", "inside", "more_inside")]
    agent = LlmAgent(name="agent", model=ScriptedModel([calls, "ok"]), tools=tools)
    assert Conversation(agent).say("hi").results == [{"result": 3}] * 4


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted({*NAMES} - {*KINDS[BaseNode].split()}))
def test_nodes_work_whatever_their_classes_call_their_own(name: str, form: str) -> None:
    class Doubling(BaseNode):
        """Twice the input."""

        async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[object, None]:
            yield f"{node_input}{node_input}"

    def start() -> str:
        return "a"

    first, second = (made(Doubling, name, form)(name=one) for one in ("first", "second"))
    inner = made(Workflow, name, form)(name="inner", edges=[("START", first)])
    flow = made(Workflow, name, form)(name="flow", edges=[("START", start, second, inner)])
    assert Conversation(flow).say("hi")[-1].output == "aaaa"
