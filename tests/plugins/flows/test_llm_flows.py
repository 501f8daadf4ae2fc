"""The released names of a flow: processors as classes, views of the composed chains, calls by their functions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from newel.agents import InvocationContext, LlmAgent, SequentialAgent
from newel.agents.sequential_agent import SequentialAgentState
from newel.flows.llm_flows import (
    BaseLlmRequestProcessor,
    BaseLlmResponseProcessor,
    _nl_planning,
    basic,
    functions,
    identity,
)
from newel.flows.llm_flows.auto_flow import AutoFlow
from newel.flows.llm_flows.base_llm_flow import BaseLlmFlow
from newel.flows.llm_flows.single_flow import SingleFlow
from newel.planners import PlanReActPlanner
from newel.testing import Conversation, ScriptedModel
from newel.tools import FunctionTool, LongRunningFunctionTool, ToolContext
from newel_compose import compose
from newel_kernel import (
    CompositionError,
    ConfigurationError,
    Event,
    EventActions,
    HookSignatureError,
    LlmRequest,
    LlmResponse,
    PluginError,
    RequestProcessor,
    ToolConfirmation,
    ToolPreparation,
    hookimpl,
)
from newel_types import AuthConfig, AuthCredential, Content, FunctionCall, FunctionResponse, OAuth2Auth, Part


class Shout(BaseLlmRequestProcessor):
    """Tells the model to shout, and says so."""

    name = "shout"
    after = ("identity",)

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        llm_request.append_instructions(["Answer in capitals."])
        yield Event(invocation_id=invocation_context.invocation_id, author="shout", message="louder")


class Count(BaseLlmResponseProcessor):
    """Counts the model's words."""

    after = ("planning",)

    async def run_async(
        self, invocation_context: InvocationContext, llm_response: LlmResponse
    ) -> AsyncGenerator[Event, None]:
        llm_response.custom_metadata = {"agent": invocation_context.agent.name}
        return
        yield


class Plugin:
    """Registers processors of all kinds as objects."""

    @hookimpl
    def register_request_processors(self) -> list[Any]:
        return [Shout(), RequestProcessor(name="plain", run=lambda ctx, request: None, after=("shout",))]

    @hookimpl
    def register_response_processors(self) -> list[Any]:
        return [Count()]


def test_an_instance_takes_part_where_a_plugin_registers_a_processor() -> None:
    chat = Conversation(LlmAgent(name="a", model=ScriptedModel(["HO"])), plugins=[Plugin()])
    turn = chat.say("Hi")
    assert [event.author for event in turn] == ["shout", "a"]
    assert "Answer in capitals." in str(chat.requests[0].config.system_instruction)
    assert turn[1].custom_metadata == {"agent": "a"}
    assert [event.author for event in chat.session.events] == ["user", "shout", "a"]


def test_an_instance_prepares_tools_and_has_its_place_by_its_name() -> None:
    class Late(Plugin):
        @hookimpl
        def register_request_processors(self) -> list[Any]:
            return [Shout()]

        @hookimpl
        def register_tool_preparations(self) -> list[Any]:
            shout = Shout()
            shout.after = ("toolset_auth",)
            return [shout]

    composed = compose("standard", plugins=[Late()])
    names = [one.name for one in composed.request_chain]
    assert names.index("shout") == names.index("identity") + 1
    assert isinstance(composed.registry.find(ToolPreparation, "shout"), ToolPreparation)
    assert [one.name for one in composed.registry.all(ToolPreparation)] == ["toolset_auth", "shout"]
    assert [one.name for one in composed.response_chain if one.name == "Count"] == ["Count"]


def test_what_is_no_processor_is_refused_by_name() -> None:
    class Coroutine(BaseLlmRequestProcessor):
        after = ("identity",)

        async def run_async(self, invocation_context: Any, llm_request: Any) -> None:  # type: ignore[override]
            return None

    class Wrong:
        def __init__(self, one: object) -> None:
            self.one = one

        @hookimpl
        def register_request_processors(self) -> list[Any]:
            return [self.one]

    with pytest.raises(PluginError, match=r"Coroutine\.run_async is a coroutine function"):
        compose("standard", plugins=[Wrong(Coroutine())])
    with pytest.raises(HookSignatureError, match="not a RequestProcessor"):
        compose("standard", plugins=[Wrong(Count())])
    homeless = Shout()
    homeless.after = ()
    with pytest.raises(CompositionError, match="has no place"):
        compose("standard", plugins=[Wrong(homeless)])


class Flowing(LlmAgent):
    """An agent that runs a flow of its own."""

    flow: Any = None

    def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        return self.flow.run_async(ctx)  # type: ignore[no-any-return]


def flowing(flow: BaseLlmFlow, *steps: Any, **fields: Any) -> Conversation:
    return Conversation(Flowing(name="a", model=ScriptedModel(steps), flow=flow, **fields))


def names_of(flow: BaseLlmFlow) -> list[str]:
    return [one.name for one in flow.request_processors]


def test_flows_are_views_of_the_composed_chains() -> None:
    composed = compose("adk")
    chain = [one.name for one in composed.request_chain]
    assert names_of(AutoFlow(composed)) == chain
    assert names_of(SingleFlow(composed)) == [name for name in chain if name != "agent_transfer"]
    for flow in (AutoFlow(composed), SingleFlow(composed)):
        assert [one.name for one in flow.response_processors] == ["planning", "code_execution"]
    assert "contents" in names_of(SingleFlow())
    assert names_of(BaseLlmFlow()) == []


@pytest.mark.parametrize(("make", "offered"), [(SingleFlow, False), (AutoFlow, True)])
def test_a_flow_runs_an_agent(make: Callable[[], BaseLlmFlow], offered: bool) -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    helper = LlmAgent(name="helper", model=ScriptedModel([]))
    chat = flowing(make(), {"call": "add", "args": {"a": 1, "b": 2}}, "3", tools=[add], sub_agents=[helper])
    turn = chat.say("1 + 2?")
    assert turn.results == [{"result": 3}]
    assert turn.text == "3"
    assert ("transfer_to_agent" in chat.requests[0].tools_dict) is offered
    assert [len(event.get_function_calls()) for event in chat.session.events] == [0, 1, 0, 0]


def test_a_flow_is_edited_by_name_and_runs_as_edited() -> None:
    flow = SingleFlow()
    flow.insert_request_processor_after("identity", Shout())
    flow.remove_request_processor("instructions")
    flow.response_processors.append(Count())
    chat = flowing(flow, "HO", "HA", instruction="Never said.")
    assert [event.author for event in chat.say("Hi")] == ["shout", "a"]
    text = str(chat.requests[0].config.system_instruction)
    assert "Never said." not in text
    assert text.index("internal name") < text.index("Answer in capitals.")
    flow.remove_request_processor("shout")
    flow.insert_request_processor_before("basic", Shout())
    assert names_of(flow)[0] == "shout"
    replacement = Shout()
    replacement.name = "loud"
    flow.replace_request_processor("shout", replacement)
    assert flow.get_request_processor("loud") is replacement
    assert flow.get_request_processor("shout") is None
    assert chat.say("Again")[-1].custom_metadata == {"agent": "a"}
    with pytest.raises(ConfigurationError, match="no request processor 'identiti'; did you mean 'identity'"):
        flow.remove_request_processor("identiti")


def test_the_released_instances_run_the_composed_processor() -> None:
    """Each is handed a request, or a response, of the caller's own."""
    seen: list[Any] = []

    class Asking(LlmAgent):
        async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
            request = LlmRequest()
            for one in (basic.request_processor, identity.request_processor, _nl_planning.request_processor):
                async for event in one.run_async(ctx, request):
                    yield event
            response = LlmResponse(
                content=Content(role="model", parts=[Part(text="/*PLANNING*/ think /*FINAL_ANSWER*/ done")])
            )
            async for event in _nl_planning.response_processor.run_async(ctx, response):
                yield event
            seen.extend((request, response))
            yield Event(invocation_id=ctx.invocation_id, author=self.name, content=response.content)

    turn = Conversation(Asking(name="a", model=ScriptedModel([]), planner=PlanReActPlanner())).say("Hi")
    request, response = seen
    assert "PLANNING" in request.config.system_instruction
    assert [part.thought or False for part in response.content.parts] == [True, False]
    assert turn.text.strip() == "done"
    missing = type(basic.request_processor)("basics")
    with pytest.raises(ConfigurationError, match="no processor 'basics'; did you mean 'basic'"):
        missing.of(compose("adk"))


def test_an_agents_state_may_be_given_by_position() -> None:
    seen: list[Any] = []

    class Noting(LlmAgent):
        async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
            ctx.set_agent_state("seq_agent", SequentialAgentState(current_sub_agent="agent_2"))
            seen.append((dict(ctx.agent_states), dict(ctx.end_of_agents)))
            ctx.set_agent_state("seq_agent", end_of_agent=True)
            seen.append((dict(ctx.agent_states), dict(ctx.end_of_agents)))
            yield Event(invocation_id=ctx.invocation_id, author=self.name, message="noted")

    Conversation(SequentialAgent(name="s", sub_agents=[Noting(name="a", model=ScriptedModel([]))])).say("Hi")
    assert seen == [
        ({"seq_agent": {"current_sub_agent": "agent_2"}}, {"seq_agent": False}),
        ({}, {"seq_agent": True}),
    ]


def called(*calls: FunctionCall) -> Event:
    return Event(author="a", content=Content(role="model", parts=[Part(function_call=call) for call in calls]))


def answered(*responses: FunctionResponse, **fields: Any) -> Event:
    parts = [Part(function_response=response) for response in responses]
    return Event(author="a", content=Content(role="user", parts=parts), **fields)


def test_ids_are_given_where_the_model_gave_none_and_are_taken_off_again() -> None:
    event = called(FunctionCall(name="f"), FunctionCall(name="g", id="theirs"))
    functions.populate_client_function_call_id(event)
    ours, theirs = [str(call.id) for call in event.get_function_calls()]
    assert ours.startswith(functions.AF_FUNCTION_CALL_ID_PREFIX)
    assert len(ours) > len("adk-")
    assert theirs == "theirs"
    content = Content(
        parts=[
            Part(function_call=FunctionCall(name="f", id=ours)),
            Part(text="x"),
            Part(function_response=FunctionResponse(name="f", id=ours)),
            Part(function_call=FunctionCall(name="g", id="theirs")),
        ]
    )
    functions.remove_client_function_call_id(content)
    functions.remove_client_function_call_id(None)
    parts = content.parts or []
    assert parts[0].function_call is not None
    assert parts[0].function_call.id is None
    assert parts[2].function_response is not None
    assert parts[2].function_response.id is None
    assert parts[3].function_call is not None
    assert parts[3].function_call.id == "theirs"


def test_calls_of_long_running_tools_are_told_from_others() -> None:
    tools = {"slow": LongRunningFunctionTool(lambda: None), "quick": FunctionTool(lambda: None)}
    calls = [FunctionCall(name=name, id=name) for name in ("slow", "quick", "unknown")]
    assert functions.get_long_running_function_calls(calls, tools) == {"slow"}


def test_the_event_of_a_call_is_found_by_its_result() -> None:
    first, second = called(FunctionCall(name="f", id="1")), called(FunctionCall(name="f", id="2"))
    events = [first, second, answered(FunctionResponse(name="f", id="1"))]
    assert functions.find_matching_function_call(events) is first
    assert functions.find_matching_function_call(events[:2], events[2]) is first
    assert functions.find_event_by_function_call_id(events, "2") is second
    assert functions.find_event_by_function_call_id(events, "3") is None
    assert functions.find_matching_function_call([]) is None
    assert functions.find_matching_function_call([first]) is None


def test_results_are_merged_into_one_event() -> None:
    one = answered(FunctionResponse(name="f", id="1"), actions=EventActions(state_delta={"a": 1}))
    other = answered(FunctionResponse(name="f", id="2"), actions=EventActions(state_delta={"b": 2}, escalate=True))
    merged = functions.merge_parallel_function_response_events([one, other])
    assert [response.id for response in merged.get_function_responses()] == ["1", "2"]
    assert merged.actions.state_delta == {"a": 1, "b": 2}
    assert merged.actions.escalate
    with pytest.raises(ValueError, match="no result event"):
        functions.merge_parallel_function_response_events([])
    assert functions.deep_merge_dicts({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}, "b": 4}) == {
        "a": {"x": 1, "y": 3},
        "b": 4,
    }


class Handling(LlmAgent):
    """Runs a block of code within an invocation."""

    handle: Any = None

    async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        async for event in self.handle(ctx):
            yield event


def handled(handle: Callable[[Any], AsyncGenerator[Event, None]], **options: Any) -> list[Event]:
    return Conversation(Handling(name="a", model=ScriptedModel([]), handle=handle), **options).say("Hi")


def test_calls_are_run_with_the_users_confirmations() -> None:
    confirmations: list[ToolConfirmation | None] = []

    def wipe(path: str, tool_context: ToolContext) -> str:
        """Wipe."""
        confirmations.append(tool_context.tool_confirmation)
        return path

    event = called(FunctionCall(name="wipe", id="1", args={"path": "/a"}), FunctionCall(name="wipe", id="2"))
    tools = {"wipe": FunctionTool(wipe)}

    async def handle(ctx: Any) -> AsyncGenerator[Event, None]:
        yield event
        confirmation = {"1": ToolConfirmation(confirmed=True)}
        for filters in ({"1"}, {"3"}):
            results = await functions.handle_function_calls_async(ctx, event, tools, filters, confirmation)
            if results is not None:
                yield results
        one = await functions.handle_function_calls_live(ctx, called(FunctionCall(name="wipe", id="2")), tools)
        yield one or Event(author="a")

    turn = handled(handle)
    ids = [response.id for event in turn for response in event.get_function_responses()]
    assert ids == ["1", "2"]
    assert confirmations[0] is not None
    assert confirmations[0].confirmed
    assert len(confirmations) == 1  # the second call lacks its argument, and the first one's confirmation is over


@pytest.mark.parametrize("distribution", ["adk", "standard"])
def test_what_tools_ask_of_the_user_becomes_an_event(distribution: str) -> None:
    scheme = {
        "type": "oauth2",
        "flows": {
            "authorizationCode": {
                "authorizationUrl": "https://x.test/a",
                "tokenUrl": "https://x.test/t",
                "scopes": {"read": "read"},
            }
        },
    }
    raw = AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(client_id="id", client_secret="a-secret-of-the-app"))
    config = AuthConfig.model_validate({"auth_scheme": scheme, "raw_auth_credential": raw})
    calls = called(FunctionCall(name="f", id="1"), FunctionCall(name="g", id="2"))
    asked = EventActions(
        requested_auth_configs={"1": config}, requested_tool_confirmations={"2": ToolConfirmation(hint="Sure?")}
    )
    results = answered(FunctionResponse(name="f", id="1"), actions=asked)
    nothing = answered(FunctionResponse(name="f", id="1"))
    made: list[Event | None] = []

    async def handle(ctx: Any) -> AsyncGenerator[Event, None]:
        for one in (nothing, results):
            made.append(functions.generate_auth_event(ctx, one))
            made.append(functions.generate_request_confirmation_event(ctx, calls, one))
        made.append(functions.build_auth_request_event(ctx, {"1": config}, author="clerk"))
        yield Event(invocation_id=ctx.invocation_id, author="a", message="done")

    handled(handle, distribution=distribution)
    assert made[:2] == [None, None]
    names = [event.get_function_calls()[0].name for event in made[2:] if event is not None]
    assert names == [
        functions.REQUEST_EUC_FUNCTION_CALL_NAME,
        functions.REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
        "adk_request_credential",
    ]
    assert made[4] is not None
    assert made[4].author == "clerk"
    request = str(made[2])
    assert "https://x.test/a" in request
    assert ("a-secret-of-the-app" in request) is (distribution == "adk")


def test_the_names_of_the_frameworks_own_calls() -> None:
    assert functions.REQUEST_INPUT_FUNCTION_CALL_NAME == "adk_request_input"
    assert asyncio.iscoroutinefunction(functions.handle_function_call_list_async)
