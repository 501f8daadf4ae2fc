"""The reason-act loop (docs/reference/behaviour.md#the-loop): what follows what, and when it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel, Field

from newel.agents import LlmAgent
from newel.models import BaseLlm
from newel.plugins import BasePlugin
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_kernel import (
    BaseAgent,
    BaseTool,
    BaseToolset,
    ConfigurationError,
    Context,
    Event,
    EventActions,
    HookSignatureError,
    LlmCallsLimitExceededError,
    LlmRequest,
    LlmResponse,
    PluginHookError,
    RequestProcessor,
    ResponseProcessor,
    ResultProcessor,
    RunConfig,
    StreamingMode,
    hookimpl,
)
from newel_types import Content, FunctionCall, FunctionResponse, Part

SSE = RunConfig(streaming_mode=StreamingMode.SSE)


def brew(leaf: str) -> str:
    """Brews tea."""
    return f"a pot of {leaf}"


def waiter(*steps: Any, **fields: Any) -> LlmAgent:
    return LlmAgent(name=fields.pop("name", "waiter"), model=ScriptedModel(steps), **fields)


def said(words: str, **fields: Any) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=[Part(text=words)]), **fields)


class Fixed(BaseLlm):
    """Yields the same objects again and again."""

    model: str = "fixed"
    answers: list[list[Any]]
    asked: list[Any] = Field(default_factory=list)

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        self.asked.append([c.model_dump(exclude_none=True) for c in list.copy(llm_request.contents)])
        for answer in self.answers[(len(self.asked) - 1) % len(self.answers)]:
            yield answer


class Foreign(BaseModel):
    """A model of somebody else."""

    parts: str


class Late(BaseTool):
    """A long-running tool."""

    def __init__(self, first: Any = None, name: str = "late") -> None:
        super().__init__(name=name, description="Takes its time.", is_long_running=True)
        self.first = first

    def _get_declaration(self) -> Any:
        from newel_types import FunctionDeclaration

        return FunctionDeclaration(name=self.name)

    async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
        return self.first


class TestOneAgent:
    def test_a_text_is_the_answer(self, talk: Any, shown: Any) -> None:
        conversation = talk(waiter("tea it is"))
        (event,) = conversation.say("tea")
        assert (event.author, event.branch, event.partial) == ("waiter", None, None)
        assert event.is_final_response()
        assert shown(conversation.session.events) == [("user", "tea"), ("waiter", "tea it is")]
        assert {e.invocation_id for e in conversation.session.events} == {event.invocation_id}
        assert event.invocation_id.startswith("e-")

    def test_a_tool_call_then_its_result_then_the_answer(self, talk: Any, shown: Any, call: Any) -> None:
        conversation = talk(waiter(call("brew", leaf="oolong"), "here you are", tools=[brew]))
        events = conversation.say("tea")
        assert shown(events) == [
            ("waiter", "call", "brew"),
            ("waiter", "result", "brew", {"result": "a pot of oolong"}),
            ("waiter", "here you are"),
        ]
        assert [event.content.role for event in events] == ["model", "user", "model"]
        assert [event.is_final_response() for event in events] == [False, False, True]
        assert len({event.id for event in events}) == 3
        assert conversation.session.events[1:] == events

    def test_a_model_that_says_nothing_ends_the_turn(self, talk: Any) -> None:
        assert talk(waiter(LlmResponse())).say("tea") == []
        assert talk(LlmAgent(name="waiter", model=Fixed(answers=[[]]))).say("tea") == []

    def test_an_error_of_the_model_is_an_event(self, talk: Any) -> None:
        (event,) = talk(waiter(LlmResponse(error_code="SAFETY", error_message="no"))).say("tea")
        assert (event.content, event.error_code, event.error_message) == (None, "SAFETY", "no")
        assert len(talk(waiter(LlmResponse(interrupted=True))).say("tea")) == 1

    def test_a_model_may_yield_what_reads_as_a_response(self, talk: Any, shown: Any) -> None:
        class Own(LlmResponse):
            """A provider's own response."""

        fields = {"content": {"role": "model", "parts": [{"text": "tea it is"}]}, "modelVersion": "m-1"}
        own = Own(content=Content(role="model", parts=[Part(text="tea it is")]), model_version="m-1")
        for response in (fields, own):
            events = talk(LlmAgent(name="waiter", model=Fixed(answers=[[response]]))).say("tea")
            assert shown(events) == [("waiter", "tea it is")]
            assert events[0].model_version == "m-1"

    def test_everything_that_a_response_says_is_in_its_event(self, talk: Any) -> None:
        response = said(
            "x",
            model_version="m-1",
            avg_logprobs=-0.5,
            interaction_id="i",
            custom_metadata={"k": 1},
            turn_complete=True,
            finish_reason="STOP",
            live_session_id="l",
        )
        (event,) = talk(waiter(response)).say("tea")
        for name in LlmResponse.field_names:
            assert getattr(event, name) == getattr(response, name), name

    def test_the_loop_stops_at_a_partial_event(self, talk: Any) -> None:
        conversation = talk(waiter([said("hel", partial=True), said("lo", partial=True)]))
        assert [event.partial for event in conversation.say("tea", run_config=SSE)] == [True, True]
        assert len(conversation.session.events) == 1

    def test_chunks_are_yielded_and_the_whole_is_stored(self, talk: Any, shown: Any) -> None:
        conversation = talk(waiter(["good ", "tea"]))
        events = conversation.say("tea", run_config=SSE)
        assert [(e.partial, e.content.parts[0].text) for e in events] == [
            (True, "good "),
            (True, "tea"),
            (False, "good tea"),
        ]
        assert shown(conversation.session.events) == [("user", "tea"), ("waiter", "good tea")]

    def test_calls_in_a_chunk_are_not_executed(self, talk: Any, call: Any) -> None:
        part = [Part(function_call=FunctionCall(name="brew", args={}))]
        chunk = LlmResponse(content=Content(role="model", parts=part), partial=True)
        events = talk(waiter([chunk, said("never mind")], tools=[brew])).say("tea", run_config=SSE)
        assert [event.get_function_responses() for event in events] == [[], []]

    def test_code_results_ask_the_model_again(self, talk: Any) -> None:
        from newel_types import CodeExecutionResult, Outcome

        ran = Part(code_execution_result=CodeExecutionResult(outcome=Outcome.OUTCOME_OK, output="4"))
        assert len(talk(waiter(ran, "four")).say("2+2")) == 2

    def test_skip_summarization_ends_the_turn(self, talk: Any, call: Any) -> None:
        def show(tool_context: Context) -> dict[str, int]:
            tool_context.actions.skip_summarization = True
            return {"picture": 1}

        events = talk(waiter(call("show"), tools=[show])).say("tea")
        assert [event.is_final_response() for event in events] == [False, True]

    def test_the_limit_of_model_calls(self, talk: Any, call: Any) -> None:
        conversation = talk(waiter(*[call("brew", leaf="x")] * 5, tools=[brew]))
        with pytest.raises(LlmCallsLimitExceededError, match=r"limit of `3` exceeded \(RunConfig.max_llm_calls\)"):
            conversation.say("tea", run_config=RunConfig(max_llm_calls=3))
        assert len(conversation.session.events) == 1 + 2 * 3
        assert (
            len(
                talk(waiter(call("brew", leaf="x"), "ok", tools=[brew])).say("t", run_config=RunConfig(max_llm_calls=0))
            )
            == 3
        )

    def test_what_the_model_gives_twice_is_two_events(self, talk: Any) -> None:
        """A model may keep its responses; neither ids nor edits may leak from one turn to the next."""
        calling = LlmResponse(
            content=Content(role="model", parts=[Part(function_call=FunctionCall(name="brew", args={"leaf": "mint"}))])
        )
        model = Fixed(answers=[[calling], [said("ok")]])
        conversation = talk(LlmAgent(name="waiter", model=model, tools=[brew]))
        conversation.say("one", "two")
        calls = [c.id for e in conversation.session.events for c in e.get_function_calls()]
        answers = [r.id for e in conversation.session.events for r in e.get_function_responses()]
        assert len(set(calls)) == 2
        assert calls == answers
        assert calling.content is not None
        assert calling.content.parts[0].function_call.id is None  # type: ignore[index,union-attr]

    def test_an_answer_that_is_data_is_made_ours(self, talk: Any, shown: Any) -> None:
        data = {"content": {"role": "model", "parts": [{"text": "tea"}]}, "finish_reason": "STOP"}
        conversation = talk(LlmAgent(name="waiter", model=Fixed(answers=[[data]])))
        assert shown(conversation.say("go")) == [("waiter", "tea")]

    def test_events_have_the_scope_of_their_run(self, talk: Any, call: Any) -> None:
        class Scoping(BaseAgent):
            async def _run_async_impl(self, ctx: Any) -> Any:
                view = ctx.model_copy(update={"isolation_scope": "apart"})
                async for event in self.sub_agents[0].run_async(view):
                    yield event

        events = talk(Scoping(name="scoping", sub_agents=[waiter("tea")])).say("go")
        assert [event.isolation_scope for event in events] == ["apart"]

    def test_a_hook_may_edit_an_answer_that_the_model_gives_again(self, talk: Any) -> None:
        def louder(callback_context: Any, llm_response: LlmResponse) -> None:
            part = llm_response.content.parts[0]  # type: ignore[union-attr,index]
            part.text = f"{part.text}!"

        model = Fixed(answers=[[said("tea")]])
        conversation = talk(LlmAgent(name="waiter", model=model, after_model_callback=louder))
        conversation.say("one")
        stored = conversation.session.events[1]
        assert stored.content.parts[0].text == "tea!"
        conversation.say("two")
        assert stored.content.parts[0].text == "tea!"
        assert conversation.session.events[3].content.parts[0].text == "tea!!"

    def test_of_two_calls_of_one_id_the_second_gets_one_of_its_own(self, talk: Any, call: Any) -> None:
        calls = [call("brew", id="c1", leaf=leaf) for leaf in ("mint", "sage")]
        conversation = talk(waiter(calls, "ok", tools=[brew]))
        event, results, _ = conversation.say("tea")
        first, second = [one.id for one in event.get_function_calls()]
        assert first == "c1"
        assert second not in ("c1", None)
        assert [one.id for one in results.get_function_responses()] == [first, second]
        assert [one.function_call.id for one in calls] == ["c1", "c1"]  # the model's own are left alone

    def test_calls_are_executed_once_though_the_model_ends_with_an_empty_response(self, talk: Any, call: Any) -> None:
        made: list[str] = []

        def order() -> str:
            made.append("x")
            return "ok"

        for tools in ([order], [order, Late()]):
            made.clear()
            parts = [call("order", id="c1"), *([call("late", id="c2")] if len(tools) > 1 else [])]
            calling = LlmResponse(content=Content(role="model", parts=parts))
            model = Fixed(answers=[[calling, LlmResponse()], [said("ok")]])
            talk(LlmAgent(name="waiter", model=model, tools=tools)).say("tea")
            assert made == ["x"]

    def test_a_late_call_without_a_result_is_not_repeated(self, talk: Any, call: Any) -> None:
        started: list[int] = []

        class Starting(Late):
            async def run_async(self, *, args: dict[str, Any], tool_context: Context) -> Any:
                started.append(1)

        calling = LlmResponse(content=Content(role="model", parts=[call("late", id="c1")]))
        model = Fixed(answers=[[calling, LlmResponse(usage_metadata=None)]])
        (event,) = talk(LlmAgent(name="waiter", model=model, tools=[Starting()])).say("tea")
        assert started == [1]
        assert event.long_running_tool_ids == {"c1"}


class TestRequest:
    def test_what_the_model_is_asked(self, talk: Any, call: Any) -> None:
        model = ScriptedModel([call("brew", leaf="oolong"), "done", "again"])
        agent = LlmAgent(name="waiter", description="Serves.", model=model, instruction="Be kind.", tools=[brew])
        talk(agent).say("tea", "more")
        first, second, third = model.requests
        assert first.config.system_instruction == (
            'Be kind.\n\nYou are an agent. Your internal name is "waiter". The description about you is "Serves.".'
        )
        assert first.config.labels == {"adk_agent_name": "waiter"}
        assert first.model == "scripted"
        assert [d.name for d in first.config.tools[0].function_declarations] == ["brew"]  # type: ignore[index]
        assert [len(r.contents) for r in (first, second, third)] == [1, 3, 5]
        assert third.contents[1].parts[0].function_call == FunctionCall(name="brew", args={"leaf": "oolong"})  # type: ignore[index]
        assert third.contents[2].parts[0].function_response == FunctionResponse(  # type: ignore[index]
            name="brew", response={"result": "a pot of oolong"}
        )

    def test_a_processor_reports_and_the_chain_goes_on_after_the_commit(self, talk: Any) -> None:
        seen: list[Any] = []

        async def report(ctx: Any, request: Any) -> list[Event]:
            return [
                Event(
                    author=ctx.agent.name,
                    invocation_id=ctx.invocation_id,
                    content=Content(role="model", parts=[Part(text="wait")]),
                    actions=EventActions(state_delta={"n": 1}),
                )
            ]

        async def look(ctx: Any, request: Any) -> None:
            seen.append((len(ctx.session.events), dict(ctx.session.state)))

        class Plugin:
            @hookimpl
            def register_request_processors(self) -> list[RequestProcessor]:
                return [
                    RequestProcessor(name="report", run=report, before=("basic",)),
                    RequestProcessor(name="look", run=look, after=("report",), before=("basic",)),
                ]

        events = talk(waiter("tea"), plugins=[Plugin()]).say("tea")
        assert [e.content.parts[0].text for e in events] == ["wait", "tea"]
        assert seen == [(2, {"n": 1})]

    def test_a_processor_s_event_may_end_the_turn_before_the_model_is_asked(self, talk: Any) -> None:
        async def settle(ctx: Any, request: Any) -> list[Event]:
            actions = EventActions(skip_summarization=True)
            return [Event(ctx.invocation_id, ctx.agent.name, message="closed", actions=actions)]

        class Plugin:
            @hookimpl
            def register_request_processors(self) -> list[RequestProcessor]:
                return [RequestProcessor(name="settle", run=settle, after=("contents",))]

        agent = waiter("not asked")
        (event,) = talk(agent, plugins=[Plugin()]).say("tea")
        assert event.content.parts[0].text == "closed"
        assert agent.model.requests == []  # type: ignore[union-attr]

    @pytest.mark.parametrize("how", ["left", "failed", "left with hooks", "failed with hooks"])
    def test_the_model_s_stream_is_closed_before_the_run_is_over(self, talk: Any, how: str) -> None:
        log: list[str] = []

        class Streaming(BaseLlm):
            async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
                try:
                    for number in range(9):
                        yield said(str(number), partial=True)
                finally:
                    log.append("closed")

        async def fail(ctx: Any, request: Any, response: LlmResponse) -> None:
            if how.startswith("failed") and response.content.parts[0].text == "1":  # type: ignore[union-attr,index]
                raise ValueError("smoke")

        class Plugin:
            @hookimpl
            def register_response_processors(self) -> list[ResponseProcessor]:
                return [ResponseProcessor(name="fail", run=fail, before=("planning",))]

        hooks: Any = {"after_model_callback": lambda callback_context, llm_response: None}
        agent = LlmAgent(name="waiter", model=Streaming(model="streaming"), **(hooks if "hooks" in how else {}))

        async def run() -> None:
            conversation = talk(agent, plugins=[Plugin()])
            events = conversation.runner.run_async(user_id="ada", session_id="s1", new_message="go", run_config=SSE)
            await anext(events)
            if how.startswith("left"):
                await events.aclose()
            else:
                with pytest.raises(ValueError, match="smoke"):
                    await anext(events)
            assert log == ["closed"]

        asyncio.run(run())

    def test_a_processor_may_end_the_invocation(self, talk: Any) -> None:
        async def stop(ctx: Any, request: Any) -> list[Event]:
            ctx.end_invocation = True
            return [Event(author=ctx.agent.name, message="closed")]

        class Plugin:
            @hookimpl
            def register_request_processors(self) -> list[RequestProcessor]:
                return [
                    RequestProcessor(name="stop", run=stop, before=("basic",)),
                    RequestProcessor(name="late", run=lambda ctx, request: 1 / 0, after=("stop",), before=("basic",)),
                ]

        (event,) = talk(waiter(after_agent_callback=lambda callback_context: 1 / 0), plugins=[Plugin()]).say("tea")
        assert event.content.parts[0].text == "closed"

    def test_a_processor_that_does_not_apply_is_left_out(self, talk: Any) -> None:
        async def mark(ctx: Any, request: Any) -> None:
            request.append_instructions(["marked"])

        class Plugin:
            @hookimpl
            def register_request_processors(self) -> list[RequestProcessor]:
                return [RequestProcessor(name="m", run=mark, after=("identity",), applies_to=lambda a: a.name == "b")]

        for name in ("a", "b"):
            model = ScriptedModel(["ok"])
            talk(LlmAgent(name=name, model=model), plugins=[Plugin()]).say("tea")
            assert ("marked" in str(model.requests[0].config.system_instruction)) is (name == "b")

    def test_what_follows_from_an_agent_s_fields_is_made_once(self, talk: Any) -> None:
        made: list[str] = []

        def for_agent(agent: Any) -> Any:
            made.append(agent.description)

            def mark(ctx: Any, request: Any) -> None:
                request.append_instructions([f"<{agent.description}>"])

            return mark

        class Plugin:
            @hookimpl
            def register_request_processors(self) -> list[RequestProcessor]:
                never: Any = None
                mark = RequestProcessor(name="m", run=never, after=("identity",), for_agent=for_agent)
                return [mark]

        def instruction(model: ScriptedModel) -> str:
            return str(model.requests[-1].config.system_instruction)

        model = ScriptedModel(["ok"] * 9)
        agent = LlmAgent(name="a", model=model, instruction="Serve.", description="first")
        one = talk(agent, plugins=[Plugin()])
        one.say("tea")
        one.say("tea")
        assert made == ["first"]
        agent.description, agent.instruction = "second", "Brew."
        one.say("tea")
        assert made == ["first", "second"]
        assert "<second>" in instruction(model)
        assert "Brew." in instruction(model)
        assert "Serve." not in instruction(model)
        # A copy that pydantic makes has what the original kept.
        talk(agent.model_copy(update={"description": "third"}), plugins=[Plugin()]).say("tea")
        assert "<third>" in instruction(model)
        assert '"third"' in instruction(model)
        talk(agent).say("tea")  # another composition
        assert "<" not in instruction(model)

    def test_an_assignment_to_one_agent_reaches_what_others_say_of_it(self, talk: Any) -> None:
        model = ScriptedModel(["ok"] * 3)
        clerk = LlmAgent(name="clerk", description="takes orders")
        root = LlmAgent(name="root", model=model, sub_agents=[clerk])
        asking = talk(root)
        asking.say("tea")
        clerk.description = "takes complaints"
        asking.say("tea")
        assert "takes complaints" in str(model.requests[-1].config.system_instruction)

    def test_response_and_result_processors_see_everything(self, talk: Any, call: Any, shown: Any) -> None:
        results: list[Any] = []

        async def upper(ctx: Any, request: Any, response: LlmResponse) -> list[Event]:
            assert list(request.tools_dict) == ["brew"]
            assert response.content is not None
            return [Event(author=ctx.agent.name, invocation_id=ctx.invocation_id, message="(thinking)")]

        async def audit(ctx: Any, call_event: Event, result_event: Event) -> list[Event]:
            results.append((call_event.get_function_calls()[0].name, result_event.get_function_responses()[0].response))
            return [Event(author=ctx.agent.name, invocation_id=ctx.invocation_id, message="(audited)")]

        class Plugin:
            @hookimpl
            def register_response_processors(self) -> list[ResponseProcessor]:
                return [ResponseProcessor(name="upper", run=upper, before=("planning",))]

            @hookimpl
            def register_result_processors(self) -> list[ResultProcessor]:
                return [
                    ResultProcessor(name="first", run=audit, before=("auth",)),
                    ResultProcessor(name="second", run=audit, after=("first",), follows=True),
                ]

        conversation = talk(waiter(call("brew", leaf="x"), tools=[brew]), plugins=[Plugin()])
        assert shown(conversation.say("tea")) == [
            ("waiter", "(thinking)"),
            ("waiter", "call", "brew"),
            ("waiter", "(audited)"),
            ("waiter", "result", "brew", {"result": "a pot of x"}),
            ("waiter", "(audited)"),
        ]
        # A result without any actions is seen, too; what follows it counts as the last event, and this one is final.
        assert results == [("brew", {"result": "a pot of x"})] * 2

    def test_toolsets_are_asked_for_each_request(self, talk: Any, call: Any) -> None:
        asked: list[str] = []

        class Menu(BaseToolset):
            async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
                asked.append(readonly_context.agent_name)
                return [Late(first={"n": len(asked)}, name=f"tool{len(asked)}")]

            async def process_llm_request(self, *, tool_context: Any, llm_request: Any) -> None:
                llm_request.append_instructions(["The menu follows."])

        model = ScriptedModel([call("m_tool1"), "ok"])
        agent = LlmAgent(name="waiter", model=model, tools=[Menu(tool_name_prefix="m")])
        talk(agent).say("tea")
        assert asked == ["waiter", "waiter"]
        names = [[d.name for d in r.config.tools[0].function_declarations] for r in model.requests]  # type: ignore[index]
        assert names == [["m_tool1"], ["m_tool2"]]
        assert "The menu follows." in str(model.requests[0].config.system_instruction)

    def test_two_tools_of_one_name_are_refused(self, talk: Any) -> None:
        with pytest.raises(ConfigurationError, match="two tools named 'late'"):
            talk(waiter("x", tools=[Late(), Late()])).say("tea")


class TestIds:
    def test_a_call_without_an_id_gets_ours_and_its_result_carries_it(self, talk: Any, call: Any) -> None:
        model = ScriptedModel([[call("brew", leaf="a"), call("brew", leaf="b", id="theirs")], "ok"])
        events = talk(LlmAgent(name="waiter", model=model, tools=[brew])).say("tea")
        ours, theirs = (c.id for c in events[0].get_function_calls())
        assert ours.startswith("adk-")
        assert theirs == "theirs"
        assert [r.id for r in events[1].get_function_responses()] == [ours, theirs]
        sent = model.requests[1].contents
        assert [p.function_call.id for p in sent[1].parts or ()] == [None, "theirs"]  # type: ignore[union-attr]
        assert [p.function_response.id for p in sent[2].parts or ()] == [None, "theirs"]  # type: ignore[union-attr]

    def test_a_tool_knows_its_call(self, talk: Any, call: Any) -> None:
        def tell(tool_context: Context) -> str:
            return tool_context.function_call_id or ""

        events = talk(waiter(call("tell", id="c1"), "ok", tools=[tell])).say("tea")
        assert events[1].get_function_responses()[0].response == {"result": "c1"}


class TestCallbacks:
    """Plugins, the agent's, the plugins' fallbacks; the first answer wins (docs/reference/behaviour.md#callbacks)."""

    @staticmethod
    def plugin(hook: str, name: str, answer: Any = None, seen: list[Any] | None = None, last: bool = False) -> Any:
        async def method(self: Any, **given: Any) -> Any:
            if seen is not None:
                seen.append(name)
            return answer() if callable(answer) else answer

        def fallback(self: Any) -> Any:
            if seen is not None:
                seen.append(name)
            return answer() if callable(answer) else answer

        if last:
            made = type("Fallback", (), {hook: hookimpl(trylast=True)(fallback)})()
            made.name = name
            return made
        return type("Plugin", (BasePlugin,), {hook: method})(name=name)

    @pytest.mark.parametrize("answering", ["p1", "p2", "own1", "own2", "late", None])
    @pytest.mark.parametrize(
        ("hook", "answer"),
        [
            ("before_agent_callback", lambda: Content(role="model", parts=[Part(text="X")])),
            ("after_agent_callback", lambda: Content(role="model", parts=[Part(text="X")])),
            ("before_model_callback", lambda: said("X")),
            ("after_model_callback", lambda: said("X")),
            ("on_model_error_callback", lambda: said("X")),
            ("before_tool_callback", lambda: {"answer": "X"}),
            ("after_tool_callback", lambda: {"answer": "X"}),
            ("on_tool_error_callback", lambda: {"answer": "X"}),
        ],
    )
    def test_who_is_asked(self, talk: Any, call: Any, hook: str, answer: Any, answering: str | None) -> None:
        order = ["p1", "p2", "own1", "own2", "late"]
        seen: list[str] = []

        def own(name: str) -> Any:
            def callback(**given: Any) -> Any:
                seen.append(name)
                return answer() if name == answering else None

            return callback

        def smash() -> str:
            raise ValueError("broken")

        fails_model, uses_tool = "model_error" in hook, "tool" in hook
        first = RuntimeError("down") if fails_model else call("smash" if "error" in hook else "brew", leaf="x")
        steps = [first, "ok"] if uses_tool or fails_model else ["ok"]
        agent = waiter(*steps, tools=[brew, smash], **{hook: [own("own1"), own("own2")]})
        plugins = [
            self.plugin(hook, name, answer if name == answering else None, seen, last=name == "late")
            for name in ("late", "p1", "p2")
        ]
        conversation = talk(agent, plugins=plugins)
        if answering is None and "error" in hook:
            with pytest.raises((RuntimeError, ValueError), match=r"down|broken"):
                conversation.say("tea")
        else:
            conversation.say("tea")
        expected = order[: order.index(answering) + 1] if answering else order
        assert seen[: len(expected)] == expected
        assert len(seen) == len(expected)

    def test_each_gets_its_keywords(self, talk: Any, call: Any) -> None:
        seen: dict[str, list[str]] = {}

        def own(hook: str) -> Any:
            def callback(**given: Any) -> None:
                seen[f"agent {hook}"] = list(given)

            return callback

        class Plugin(BasePlugin):
            pass

        hooks = ["before_agent", "before_model", "after_model", "before_tool", "after_tool", "after_agent"]
        for hook in hooks:

            async def method(self: Any, _hook: str = hook, **given: Any) -> None:
                seen[f"plugin {_hook}"] = list(given)

            setattr(Plugin, f"{hook}_callback", method)
        callbacks = {f"{hook}_callback": own(hook) for hook in hooks}
        agent = waiter(call("brew", leaf="x"), "ok", tools=[brew], **callbacks)
        talk(agent, plugins=[Plugin(name="p")]).say("tea")
        assert seen == {
            "plugin before_agent": ["agent", "callback_context"],
            "agent before_agent": ["callback_context"],
            "plugin before_model": ["callback_context", "llm_request"],
            "agent before_model": ["callback_context", "llm_request"],
            "plugin after_model": ["callback_context", "llm_response"],
            "agent after_model": ["callback_context", "llm_response"],
            "plugin before_tool": ["tool", "tool_args", "tool_context"],
            "agent before_tool": ["tool", "args", "tool_context"],
            "plugin after_tool": ["tool", "tool_args", "tool_context", "result"],
            "agent after_tool": ["tool", "args", "tool_context", "tool_response"],
            "plugin after_agent": ["agent", "callback_context"],
            "agent after_agent": ["callback_context"],
        }

    def test_the_values_belong_to_the_keywords(self, talk: Any, call: Any) -> None:
        seen: list[Any] = []

        async def after(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> None:
            seen.extend([tool.name, args, type(tool_context).__name__, tool_response])

        def failed(callback_context: Any, llm_request: Any, error: Any) -> LlmResponse:
            seen.extend([type(callback_context).__name__, type(llm_request).__name__, str(error)])
            return said("sorry")

        agent = waiter(
            call("brew", leaf="x"),
            RuntimeError("down"),
            tools=[brew],
            after_tool_callback=after,
            on_model_error_callback=failed,
        )
        talk(agent).say("tea")
        assert seen == ["brew", {"leaf": "x"}, "Context", "a pot of x", "Context", "LlmRequest", "down"]

    def test_before_agent_answers_in_its_stead(self, talk: Any, text: Any, shown: Any) -> None:
        agent = waiter(
            before_agent_callback=lambda callback_context: text("closed"),
            after_agent_callback=lambda callback_context: text("never"),
        )
        conversation = talk(agent)
        assert shown(conversation.say("tea")) == [("waiter", "closed")]
        assert shown(conversation.session.events) == [("user", "tea"), ("waiter", "closed")]

    def test_after_agent_adds_an_event(self, talk: Any, text: Any, shown: Any) -> None:
        agent = waiter("ok", after_agent_callback=[lambda callback_context: None, lambda callback_context: text("bye")])
        assert shown(talk(agent).say("tea")) == [("waiter", "ok"), ("waiter", "bye")]

    def test_state_alone_makes_an_event_and_nothing_makes_none(self, talk: Any) -> None:
        def write(callback_context: Context) -> None:
            callback_context.state["x"] = 1

        def only_look(callback_context: Context) -> None:
            assert callback_context.state.get("x") == 1

        conversation = talk(waiter("ok", before_agent_callback=write, after_agent_callback=only_look))
        events = conversation.say("tea")
        assert [(e.content is None, e.actions.state_delta) for e in events] == [(True, {"x": 1}), (False, {})]
        assert conversation.session.state == {"x": 1}

    def test_before_model_answers_and_after_model_does_not_see_it(self, talk: Any, shown: Any) -> None:
        model = ScriptedModel([])
        agent = LlmAgent(
            name="waiter",
            model=model,
            before_model_callback=lambda callback_context, llm_request: said("cached"),
            after_model_callback=lambda callback_context, llm_response: said("changed"),
        )
        conversation = talk(agent)
        assert shown(conversation.say("tea", "tea")) == [("waiter", "cached")]
        assert model.requests == []

    def test_what_after_model_gives_is_the_answer(self, talk: Any, shown: Any) -> None:
        agent = waiter("tea", after_model_callback=lambda callback_context, llm_response: said("changed"))
        assert shown(talk(agent).say("tea")) == [("waiter", "changed")]

    def test_state_of_model_callbacks_rides_on_the_models_event(self, talk: Any) -> None:
        def before(callback_context: Context, llm_request: Any) -> None:
            callback_context.state["before"] = 1

        def after(callback_context: Context, llm_response: Any) -> None:
            callback_context.state["after"] = callback_context.state["before"] + 1

        conversation = talk(waiter("ok", before_model_callback=before, after_model_callback=after))
        (event,) = conversation.say("tea")
        assert event.actions.state_delta == {"before": 1, "after": 2}
        assert conversation.session.state == {"before": 1, "after": 2}

    def test_in_a_stream_the_stored_event_has_all_of_it(self, talk: Any) -> None:
        def after(callback_context: Context, llm_response: Any) -> None:
            callback_context.state["chunks"] = callback_context.state.get("chunks", 0) + 1

        conversation = talk(waiter(["a", "b"], after_model_callback=after))
        events = conversation.say("tea", run_config=SSE)
        assert [e.actions.state_delta for e in events] == [{"chunks": 1}, {"chunks": 2}, {"chunks": 3}]
        assert conversation.session.state == {"chunks": 3}

    def test_what_is_written_before_a_stream_is_in_the_stored_event(self, talk: Any) -> None:
        def before(callback_context: Context, llm_request: Any) -> None:
            callback_context.state["before"] = 1

        conversation = talk(waiter(["a", "b"], before_model_callback=before))
        conversation.say("tea", run_config=SSE)
        assert conversation.session.events[-1].actions.state_delta == {"before": 1}

    def test_an_answer_to_a_models_error_goes_through_after_model(self, talk: Any, shown: Any) -> None:
        def loud(callback_context: Any, llm_response: LlmResponse) -> None:
            part = llm_response.content.parts[0]  # type: ignore[union-attr,index]
            part.text = str(part.text).upper()

        def sorry(callback_context: Any, llm_request: Any, error: Exception) -> LlmResponse:
            return said(f"sorry: {error}")

        agent = waiter(
            {"chunks": ["a", "b"], "raise": RuntimeError("cut")},
            after_model_callback=loud,
            on_model_error_callback=sorry,
        )
        assert shown(talk(agent).say("tea", run_config=SSE)) == [
            ("waiter", "A"),
            ("waiter", "B"),
            ("waiter", "SORRY: CUT"),
        ]

    def test_a_model_that_goes_on_failing_is_answered_for_once(self, talk: Any, shown: Any) -> None:
        class Failing:
            """An iterator that, unlike a generator, is not over once it has failed."""

            asked = 0

            def __aiter__(self) -> Failing:
                return self

            async def __anext__(self) -> LlmResponse:
                self.asked += 1
                assert self.asked == 1
                raise RuntimeError("cut")

            async def aclose(self) -> None:
                """Holds nothing."""

        class Cut(BaseLlm):
            def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
                return Failing()

        def sorry(callback_context: Any, llm_request: Any, error: Exception) -> LlmResponse:
            return said(f"sorry: {error}")

        agent = LlmAgent(name="waiter", model=Cut(model="cut"), on_model_error_callback=sorry)
        assert shown(talk(agent).say("tea")) == [("waiter", "sorry: cut")]

    def test_arguments_that_a_callback_edits_reach_the_tool_and_not_the_log(self, talk: Any, call: Any) -> None:
        def sweeten(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
            args["leaf"] += " with honey"

        conversation = talk(waiter(call("brew", leaf="mint"), "ok", tools=[brew], before_tool_callback=sweeten))
        events = conversation.say("tea")
        assert events[1].get_function_responses()[0].response == {"result": "a pot of mint with honey"}
        assert conversation.session.events[1].get_function_calls()[0].args == {"leaf": "mint"}

    def test_a_plugin_that_fails_is_named(self, talk: Any) -> None:
        class Clumsy(BasePlugin):
            async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
                raise KeyError("kettle")

        with pytest.raises(
            PluginHookError, match=r"plugin 'clumsy' \(.*\) failed in before_model_callback: KeyError: 'kettle'"
        ) as e:
            talk(waiter("ok"), plugins=[Clumsy(name="clumsy")]).say("tea")
        assert isinstance(e.value.__cause__, KeyError)

    def test_an_agents_own_callback_raises_what_it_raises(self, talk: Any) -> None:
        with pytest.raises(ZeroDivisionError):
            talk(waiter("ok", before_model_callback=lambda callback_context, llm_request: 1 / 0)).say("tea")

    @pytest.mark.parametrize(
        ("hook", "wrong", "wanted"),
        [
            ("before_agent_callback", "text", "Content"),
            ("before_agent_callback", LlmResponse(error_code="X"), "Content"),
            ("after_agent_callback", 3, "Content"),
            ("before_model_callback", "text", "LlmResponse"),
            ("after_model_callback", Content(role="model", parts=[Part(text="x")]), "LlmResponse"),
            ("before_tool_callback", "text", "dict"),
            ("after_tool_callback", ["x"], "dict"),
            ("before_tool_callback", Foreign(parts="none"), "dict"),
            ("before_agent_callback", Foreign(parts="none"), "Content"),
        ],
    )
    def test_a_wrong_answer_names_who_gave_it(self, talk: Any, call: Any, hook: str, wrong: Any, wanted: str) -> None:
        def odd(**given: Any) -> Any:
            return wrong

        words = f"{hook} returned {type(wrong).__name__}; it must return {wanted} or None"
        with pytest.raises(HookSignatureError, match=rf"agent 'waiter', callback .*odd \(test_loop\.py:\d+\): {words}"):
            talk(waiter(call("brew", leaf="x"), "ok", tools=[brew], **{hook: odd})).say("tea")
        with pytest.raises(HookSignatureError, match=rf"plugin 'p' \(.*\): {words}"):
            talk(waiter(call("brew", leaf="x"), "ok", tools=[brew]), plugins=[self.plugin(hook, "p", wrong)]).say("tea")

    def test_objects_of_google_genai_are_taken(self, talk: Any, shown: Any) -> None:
        foreign = pytest.importorskip("google.genai.types")

        def early(callback_context: Any) -> Any:
            return foreign.Content(role="model", parts=[foreign.Part(text="from there")])

        assert shown(talk(waiter(before_agent_callback=early)).say("tea")) == [("waiter", "from there")]

    def test_a_models_foreign_objects_are_made_ours(self, talk: Any) -> None:
        foreign = pytest.importorskip("google.genai.types")
        response = LlmResponse(
            content=foreign.Content(role="model", parts=[foreign.Part(text="hi")]),
            finish_reason=foreign.FinishReason.STOP,
            usage_metadata=foreign.GenerateContentResponseUsageMetadata(total_token_count=3),
        )
        conversation = talk(LlmAgent(name="waiter", model=Fixed(answers=[[response]])))
        (event,) = conversation.say("tea")
        assert Event.model_validate_json(event.model_dump_json()) == event
        assert event.usage_metadata is not None
        assert event.usage_metadata.total_token_count == 3


class TestTransfer:
    @staticmethod
    def team(call: Any, *root_steps: Any, **subs: list[Any]) -> LlmAgent:
        return LlmAgent(
            name="host",
            model=ScriptedModel(root_steps),
            sub_agents=[LlmAgent(name=name, model=ScriptedModel(steps)) for name, steps in subs.items()],
        )

    def to(self, call: Any, name: str) -> Any:
        return call("transfer_to_agent", agent_name=name)

    def test_the_target_answers_and_keeps_the_conversation(self, talk: Any, call: Any, shown: Any) -> None:
        conversation = talk(self.team(call, self.to(call, "cook"), cook=["soup", "more soup"]))
        assert shown(conversation.say("food")) == [
            ("host", "call", "transfer_to_agent"),
            ("host", "result", "transfer_to_agent", {"result": None}),
            ("cook", "soup"),
        ]
        assert shown(conversation.say("more")) == [("cook", "more soup")]
        events = conversation.session.events
        assert {event.branch for event in events} == {None}
        assert events[2].actions.transfer_to_agent == "cook"

    def test_nothing_but_events_comes_out(self, talk: Any, call: Any) -> None:
        conversation = talk(self.team(call, self.to(call, "cook"), cook=["soup"]))
        events = conversation.say("food")
        assert {type(event).__name__ for event in events} <= {"Event"}
        assert [e.id for e in conversation.session.events[1:]] == [e.id for e in events]

    def test_an_unknown_agent_is_refused_after_the_result_is_stored(self, talk: Any, call: Any) -> None:
        conversation = talk(self.team(call, self.to(call, "cok"), cook=[]))
        with pytest.raises(
            ValueError, match=r"Agent cok not found in the agent tree. Available agents: host, cook; did"
        ):
            conversation.say("food")
        assert len(conversation.session.events) == 3

    def test_a_lone_agent_that_transfers_to_itself_goes_on(self, talk: Any, call: Any, shown: Any) -> None:
        def again(tool_context: Context) -> str:
            tool_context.actions.transfer_to_agent = "waiter"
            return "ok"

        events = talk(waiter(call("again"), "here I am", tools=[again])).say("tea")
        assert {type(event).__name__ for event in events} <= {"Event"}
        assert shown(events)[2:] == [("waiter", "here I am")]

    def test_after_agent_callbacks_run_from_the_inside_out(self, talk: Any, call: Any, text: Any) -> None:
        """A transfer keeps the agent waiting: its after_agent_callback comes when its target has finished."""

        def bye(callback_context: Context) -> Content:
            return text(f"bye from {callback_context.agent_name}")  # type: ignore[no-any-return]

        def agent(name: str, *steps: Any, **fields: Any) -> LlmAgent:
            return LlmAgent(name=name, model=ScriptedModel(steps), after_agent_callback=bye, **fields)

        tree = agent(
            "a", self.to(call, "b"), sub_agents=[agent("b", self.to(call, "c"), sub_agents=[agent("c", "done")])]
        )
        events = talk(tree).say("go")
        assert [(e.author, e.content.parts[0].text) for e in events if e.content.parts[0].text] == [
            ("c", "done"),
            ("c", "bye from c"),
            ("b", "bye from b"),
            ("a", "bye from a"),
        ]

    def test_an_early_answer_ends_only_the_agent_that_gave_it(
        self, talk: Any, call: Any, text: Any, shown: Any
    ) -> None:
        cook = LlmAgent(name="cook", model=ScriptedModel([]), before_agent_callback=lambda callback_context: text("no"))
        host = LlmAgent(
            name="host",
            model=ScriptedModel([self.to(call, "cook")]),
            sub_agents=[cook],
            after_agent_callback=lambda callback_context: text("bye"),
        )
        assert shown(talk(host).say("food"))[2:] == [("cook", "no"), ("host", "bye")]

    def test_300_transfers_there_and_back_end_at_the_limit_of_calls(self, talk: Any, call: Any) -> None:
        steps = [self.to(call, "pong") for _ in range(200)]
        back = [self.to(call, "ping") for _ in range(200)]
        conversation = talk(
            LlmAgent(
                name="ping", model=ScriptedModel(steps), sub_agents=[LlmAgent(name="pong", model=ScriptedModel(back))]
            )
        )
        with pytest.raises(LlmCallsLimitExceededError):
            conversation.say("go", run_config=RunConfig(max_llm_calls=300))
        events = conversation.session.events
        assert len(events) == 1 + 2 * 300
        assert [e.author for e in events[1::2]] == ["ping", "pong"] * 150

    def test_a_deep_chain_of_transfers_unwinds(self, talk: Any, call: Any, text: Any) -> None:
        ended: list[str] = []

        def note(callback_context: Context) -> None:
            ended.append(callback_context.agent_name)

        turns = 300
        steps = [self.to(call, "pong")] * (turns // 2)
        back = [self.to(call, "ping")] * (turns // 2 - 1) + ["enough"]
        pong = LlmAgent(name="pong", model=ScriptedModel(back), after_agent_callback=note)
        ping = LlmAgent(name="ping", model=ScriptedModel(steps), after_agent_callback=note, sub_agents=[pong])
        events = talk(ping).say("go")
        assert events[-1].content.parts[0].text == "enough"
        assert ended == ["pong", "ping"] * (turns // 2)

    def test_other_kinds_of_agents_can_be_targets(self, talk: Any, call: Any, shown: Any) -> None:
        class Oven(BaseAgent):
            async def _run_async_impl(self, ctx: Any) -> Any:
                yield Event(author=self.name, invocation_id=ctx.invocation_id, message="ding")
                yield Event(
                    author=self.name, invocation_id=ctx.invocation_id, actions=EventActions(state_delta={"n": 1})
                )

        host = LlmAgent(
            name="host", model=ScriptedModel([self.to(call, "oven"), "it is done"]), sub_agents=[Oven(name="oven")]
        )
        conversation = talk(host)
        assert shown(conversation.say("bake"))[2:] == [("oven", "ding")]
        assert conversation.session.state == {"n": 1}
        assert shown(conversation.say("again")) == [("host", "it is done")]  # an oven does not keep a conversation


class TestLongRunning:
    def answer(self, id: str, **response: Any) -> Content:
        answered = FunctionResponse(id=id, name="late", response=response)
        return Content(role="user", parts=[Part(function_response=answered)])

    def test_the_call_is_marked_and_a_first_result_is_told_to_the_model(self, talk: Any, call: Any, shown: Any) -> None:
        conversation = talk(
            waiter(call("late", id="c1"), "please wait", "it came", tools=[Late({"status": "pending"})])
        )
        events = conversation.say("go")
        assert events[0].long_running_tool_ids == {"c1"}
        assert shown(events)[1:] == [("waiter", "result", "late", {"status": "pending"}), ("waiter", "please wait")]
        assert shown(conversation.say(self.answer("c1", status="done"))) == [("waiter", "it came")]

    def test_without_a_first_result_the_turn_ends_with_the_call(self, talk: Any, call: Any, shown: Any) -> None:
        model = ScriptedModel([call("late", id="c1"), "it came"])
        conversation = talk(LlmAgent(name="waiter", model=model, tools=[Late()]))
        assert shown(conversation.say("go")) == [("waiter", "call", "late")]
        assert shown(conversation.say(self.answer("c1", status="done"))) == [("waiter", "it came")]
        contents = model.requests[1].contents
        assert [p.function_response.response for c in contents for p in c.parts or () if p.function_response] == [
            {"status": "done"}
        ]

    @pytest.mark.parametrize("first", [None, {"status": "pending"}])
    def test_a_resumable_invocation_pauses_and_goes_on_with_the_answer(
        self, talk: Any, call: Any, shown: Any, first: Any
    ) -> None:
        conversation = talk(waiter(call("late", id="c1"), "it came", tools=[Late(first)]), resumable=True)
        paused = conversation.say("go")
        assert [kind for _, kind, *_ in shown(paused)] == (["call", "result"] if first else ["call"])
        resumed = conversation.say(self.answer("c1", status="done"))
        assert ("waiter", "it came") in shown(resumed)
        assert {e.invocation_id for e in resumed} == {paused[0].invocation_id}

    def test_a_resumable_invocation_waits_for_every_answer(self, talk: Any, call: Any, shown: Any) -> None:
        both = [call("late", id="c1"), call("late", id="c2")]
        conversation = talk(waiter(both, "both came", tools=[Late()]), resumable=True)
        conversation.say("go")
        assert shown(conversation.say(self.answer("c1", n=1))) == []
        assert ("waiter", "both came") in shown(conversation.say(self.answer("c2", n=2)))

    def test_calls_that_a_crash_left_open_are_executed_on_resumption(self, talk: Any, call: Any, shown: Any) -> None:
        fails = [True]

        def fragile() -> str:
            if fails.pop() if fails else False:
                raise ConnectionError("crash")
            return "ok"

        conversation = talk(waiter(call("fragile"), "done", tools=[fragile]), resumable=True)
        with pytest.raises(ConnectionError):
            conversation.say("go")
        invocation = conversation.session.events[-1].invocation_id
        events = conversation.say(None, invocation_id=invocation)
        assert shown(events)[:2] == [("waiter", "result", "fragile", {"result": "ok"}), ("waiter", "done")]


class TestOutput:
    def test_the_output_key_takes_the_final_text_only(self, talk: Any, call: Any) -> None:
        model = ScriptedModel(
            [
                [Part(text="let me see"), call("brew", leaf="x")],
                [Part(text="thinking", thought=True), Part(text="tea"), Part(text=" time")],
            ]
        )
        conversation = talk(LlmAgent(name="waiter", model=model, tools=[brew], output_key="answer"))
        events = conversation.say("tea")
        assert [e.actions.state_delta for e in events] == [{}, {}, {"answer": "tea time"}]
        assert conversation.session.state == {"answer": "tea time"}


def test_two_turns_of_one_session_do_not_mix(talk: Any, call: Any, shown: Any) -> None:
    """Two sessions of one runner at the same time; each sees its own history."""

    class Echo(BaseLlm):
        model: str = "echo"

        async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
            await asyncio.sleep(0)
            yield said(" ".join(str(c.parts[0].text) for c in llm_request.contents))  # type: ignore[index]

    conversation = talk(LlmAgent(name="waiter", model=Echo()))

    async def both() -> list[list[Event]]:
        for word in ("a", "b"):
            out = await asyncio.gather(*(conversation.send(f"{word}{n}", session_id=f"s{n}") for n in range(5)))
        return out

    assert [shown(events) for events in asyncio.run(both())] == [[("waiter", f"a{n} a{n} b{n}")] for n in range(5)]


def test_a_composition_serves_many_agents(talk: Any, shown: Any) -> None:
    composition = compose("adk")
    for name in ("a", "b"):
        assert shown(talk(waiter(name, name=name), composition=composition).say("x")) == [(name, name)]
