"""The runner: the order of one invocation, and the rule that a producer resumes only after its event is committed."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from newel.agents.base_agent import BaseAgent as CheckpointingAgent
from newel.plugins import BasePlugin
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel_compose import compose
from newel_kernel import (
    BaseAgent,
    BaseToolset,
    ConfigurationError,
    Context,
    Event,
    EventActions,
    FeatureUnavailableError,
    PluginHookError,
    RunConfig,
    SessionNotFoundError,
    StreamingMode,
    hookimpl,
)
from newel_types import Content, FunctionCall, FunctionResponse, Part

WHERE = {"user_id": "ada", "session_id": "s1"}


class Steps(BaseAgent):
    """Yields numbered events; notes in `log` when it makes one and when it is resumed."""

    log: Any
    count: int = 3
    partial: bool = False
    error: Any = None

    async def _run_async_impl(self, ctx: Any) -> Any:
        for number in range(self.count):
            actions = EventActions(state_delta={self.name: number})
            event = Event(
                author=self.name,
                invocation_id=ctx.invocation_id,
                branch=ctx.branch,
                actions=actions,
                message=f"{self.name} {number}",
                partial=self.partial or None,
            )
            self.log.append(f"{self.name} makes {number}")
            yield event
            self.log.append(f"{self.name} resumes after {number}")
            if not self.partial:
                assert ctx.session.state[self.name] == number
                assert event in ctx.session.events
        if self.error is not None:
            raise self.error


class Slow(InMemorySessionService):
    """A store that takes its time and notes when a commit begins and ends."""

    def __init__(self, log: list[Any], fail_on: str | None = None) -> None:
        super().__init__()
        self.log = log
        self.fail_on = fail_on

    async def append_event(self, session: Any, event: Event) -> Event:
        words = event.content.parts[0].text if event.content and event.content.parts else "-"
        self.log.append(f"begin {words}")
        for _ in range(3):
            await asyncio.sleep(0)
        if self.fail_on is not None and words == self.fail_on:
            raise OSError("disk full")
        done = await super().append_event(session, event)
        self.log.append(f"end {words}")
        return done


class Watch(BasePlugin):
    """Notes every runner-level hook."""

    def __init__(self, log: list[Any], name: str = "watch") -> None:
        super().__init__(name=name)
        self.log = log

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Content) -> None:
        self.log.append(f"on_user_message with {len(invocation_context.session.events)} stored")

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        self.log.append(f"before_run with {len(invocation_context.session.events)} stored")

    async def on_event_callback(self, *, invocation_context: Any, event: Event) -> None:
        self.log.append(f"on_event with {len(invocation_context.session.events)} stored")

    async def on_run_error_callback(self, *, invocation_context: Any, error: BaseException) -> None:
        self.log.append(f"on_run_error {type(error).__name__}")

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        self.log.append(f"after_run with {len(invocation_context.session.events)} stored")


class TestTheRule:
    """S1: an agent resumes only after the runner has committed and passed on what it yielded."""

    def test_one_producer(self, talk: Any) -> None:
        log: list[Any] = []
        conversation = talk(Steps(name="a", log=log, count=2), service=Slow(log))

        async def run() -> None:
            stream = conversation.runner.run_async(new_message="go", **WHERE)
            async for event in stream:
                log.append(f"caller has {event.content.parts[0].text}")

        asyncio.run(run())
        assert log == [
            "begin go",
            "end go",
            "a makes 0",
            "begin a 0",
            "end a 0",
            "caller has a 0",
            "a resumes after 0",
            "a makes 1",
            "begin a 1",
            "end a 1",
            "caller has a 1",
            "a resumes after 1",
        ]

    @pytest.mark.parametrize("plugins", [0, 1])
    @pytest.mark.parametrize("kind", [SequentialAgent, ParallelAgent, LoopAgent])
    def test_many_producers(self, talk: Any, kind: Any, plugins: int) -> None:
        log: list[Any] = []
        children = [Steps(name=name, log=log) for name in ("a", "b", "c")]
        fields = {"max_iterations": 2} if kind is LoopAgent else {}
        agent = kind(name="root", sub_agents=children, **fields)
        extra = [Watch([])] if plugins else []
        talk(agent, service=Slow(log), plugins=extra).say("go")
        for name in ("a", "b", "c"):
            for number in range(3):
                made, resumed = log.index(f"{name} makes {number}"), log.index(f"{name} resumes after {number}")
                assert made < log.index(f"begin {name} {number}") < log.index(f"end {name} {number}") < resumed
        open_commits = 0
        for entry in log:
            open_commits += entry.startswith("begin") - entry.startswith("end")
            assert open_commits in (0, 1)  # one at a time

    def test_a_partial_event_is_passed_on_and_not_stored(self, talk: Any) -> None:
        log: list[Any] = []
        conversation = talk(Steps(name="a", log=log, partial=True), service=Slow(log))
        assert len(conversation.say("go")) == 3
        assert [entry for entry in log if entry.startswith("begin")] == ["begin go"]
        assert conversation.session.state == {}

    def test_a_failed_commit_stops_the_agent_where_it_is(self, talk: Any) -> None:
        log: list[Any] = []
        conversation = talk(Steps(name="a", log=log), service=Slow(log, fail_on="a 1"))
        with pytest.raises(OSError, match="disk full"):
            conversation.say("go")
        assert "a resumes after 0" in log
        assert "a resumes after 1" not in log
        assert len(conversation.session.events) == 2

    def test_a_tool_result_is_stored_before_the_model_is_asked_again(self, talk: Any, call: Any) -> None:
        log: list[Any] = []

        def ask(request: Any) -> str:
            log.append("asked")
            return "ok"

        def ping() -> str:
            log.append("tool")
            return "pong"

        model = ScriptedModel([call("ping"), ask])
        talk(LlmAgent(name="waiter", model=model, tools=[ping]), service=Slow(log)).say("go")
        assert log == [
            "begin go",
            "end go",
            "begin None",
            "end None",
            "tool",
            "begin None",
            "end None",
            "asked",
            "begin ok",
            "end ok",
        ]

    def test_a_view_sees_what_it_committed(self, talk: Any, call: Any) -> None:
        seen: list[Any] = []

        def look(tool_context: Context) -> str:
            seen.append([event.author for event in tool_context.session.events])
            return "x"

        talk(LlmAgent(name="w", model=ScriptedModel([call("look"), call("look"), "ok"]), tools=[look])).say("go")
        assert seen == [["user", "w"], ["user", "w", "w", "w"]]


class TestOrder:
    def test_the_hooks_of_an_invocation(self, talk: Any) -> None:
        log: list[Any] = []
        talk(Steps(name="a", log=log, count=1), plugins=[Watch(log)]).say("go")
        assert log == [
            "on_user_message with 0 stored",
            "before_run with 1 stored",
            "a makes 0",
            "on_event with 1 stored",
            "a resumes after 0",
            "after_run with 2 stored",
        ]

    def test_before_run_may_answer_early(self, talk: Any, text: Any, shown: Any) -> None:
        log: list[Any] = []

        class Closed(Watch):
            async def before_run_callback(self, *, invocation_context: Any) -> Content:
                return text("closed")  # type: ignore[no-any-return]

        conversation = talk(Steps(name="a", log=log), plugins=[Closed(log)])
        events = conversation.say("go")
        assert shown(events) == [("model", "closed")]
        assert conversation.session.events[1:] == events
        assert len({event.invocation_id for event in conversation.session.events}) == 1
        assert log == ["on_user_message with 0 stored", "on_event with 1 stored", "after_run with 2 stored"]

    def test_the_message_that_a_plugin_gives_is_the_one_stored_and_answered(self, talk: Any, text: Any) -> None:
        class Polite(BasePlugin):
            async def on_user_message_callback(self, *, invocation_context: Any, user_message: Content) -> Content:
                return text(f"{user_message.parts[0].text}, please", "user")  # type: ignore[no-any-return,index]

        model = ScriptedModel(["ok"])
        conversation = talk(LlmAgent(name="w", model=model), plugins=[Polite(name="p")])
        conversation.say("tea")
        assert conversation.session.events[0].content.parts[0].text == "tea, please"
        assert model.requests[0].contents[0].parts[0].text == "tea, please"  # type: ignore[index]

    def test_state_delta_comes_with_the_message(self, talk: Any) -> None:
        seen: list[Any] = []
        delta = {"x": [1], "user:y": 2, "temp:z": 3}

        def look(callback_context: Context) -> None:
            seen.append(callback_context.state.to_dict())

        conversation = talk(LlmAgent(name="w", model=ScriptedModel(["ok"]), before_agent_callback=look))
        conversation.say("tea", state_delta=delta)
        delta["x"].append(2)  # type: ignore[union-attr,attr-defined]
        assert seen == [{"x": [1], "user:y": 2, "temp:z": 3}]
        assert conversation.session.state == {"x": [1], "user:y": 2}
        assert conversation.session.events[0].actions.state_delta == {"x": [1], "user:y": 2}
        conversation.runner.agent.model = ScriptedModel(["ok"])
        conversation.say("more", state_delta={"x": None})
        assert conversation.session.state == {"user:y": 2}

    def test_what_on_event_gives_is_merged_stored_then_yielded(self, talk: Any, text: Any) -> None:
        class Mark(BasePlugin):
            async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event:
                changed = Event(author="nobody", invocation_id="none", content=text("***"), custom_metadata={"m": 1})
                changed.actions.state_delta["marked"] = True
                return changed

        conversation = talk(LlmAgent(name="w", model=ScriptedModel(["tea"])), plugins=[Mark(name="m")])
        (event,) = conversation.say("go")
        stored = conversation.session.events[-1]
        assert event == stored
        assert (event.author, event.content.parts[0].text) == ("nobody", "***")
        assert event.invocation_id == conversation.session.events[0].invocation_id
        assert event.custom_metadata == {"m": 1}
        assert conversation.session.state == {"marked": True}

    def test_fields_that_on_event_leaves_alone_stay(self, talk: Any) -> None:
        class Mark(BasePlugin):
            async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event:
                return Event(error_message="noted")

        log: list[Any] = []
        conversation = talk(Steps(name="a", log=log, count=1), plugins=[Mark(name="m")])
        with pytest.raises(AssertionError):  # the agent looks for the very object that it yielded
            conversation.say("go")
        stored = conversation.session.events[-1]
        assert (stored.author, stored.content.parts[0].text, stored.error_message) == ("a", "a 0", "noted")
        assert stored.actions.state_delta == {"a": 0}

    def test_an_event_edited_in_place_is_stored_as_edited(self, talk: Any) -> None:
        class Mark(BasePlugin):
            async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event | None:
                event.content.parts[0].text += "!"  # type: ignore[union-attr,index,operator]
                return event if invocation_context.session.events[1:] else None

        conversation = talk(Steps(name="a", log=[], count=2), plugins=[Mark(name="m")])
        assert [e.content.parts[0].text for e in conversation.say("go")] == ["a 0!", "a 1!"]
        assert [e.content.parts[0].text for e in conversation.session.events] == ["go", "a 0!", "a 1!"]

    def test_custom_metadata_is_on_every_event(self, talk: Any) -> None:
        class Mark(BasePlugin):
            async def on_event_callback(self, *, invocation_context: Any, event: Event) -> Event:
                return Event(custom_metadata={"own": 1})

        config = RunConfig(custom_metadata={"run": 7, "own": 0}, streaming_mode=StreamingMode.SSE)
        plain = talk(LlmAgent(name="w", model=ScriptedModel([["a", "b"]])))
        assert [e.custom_metadata for e in plain.say("go", run_config=config)] == [{"run": 7, "own": 0}] * 3
        marked = talk(LlmAgent(name="w", model=ScriptedModel(["ok"])), plugins=[Mark(name="m")])
        assert [e.custom_metadata for e in marked.say("go", run_config=config)] == [{"run": 7, "own": 1}]
        assert [e.custom_metadata for e in marked.session.events] == [{"run": 7, "own": 0}, {"run": 7, "own": 1}]
        assert talk(LlmAgent(name="w", model=ScriptedModel(["ok"]))).say("go")[0].custom_metadata is None


class TestTheEnd:
    """after_run always comes, and on_run_error before it where something went wrong."""

    def test_after_an_error(self, talk: Any) -> None:
        log: list[Any] = []
        conversation = talk(Steps(name="a", log=[], count=1, error=ValueError("spilt")), plugins=[Watch(log)])
        with pytest.raises(ValueError, match="spilt"):
            conversation.say("go")
        assert log[-2:] == ["on_run_error ValueError", "after_run with 2 stored"]

    def test_after_a_failed_commit(self, talk: Any) -> None:
        log: list[Any] = []
        service = Slow([], fail_on="a 0")
        with pytest.raises(OSError, match="disk full"):
            talk(Steps(name="a", log=[]), plugins=[Watch(log)], service=service).say("go")
        assert log[-2:] == ["on_run_error OSError", "after_run with 1 stored"]

    def test_after_cancellation(self, talk: Any) -> None:
        log: list[Any] = []
        closed: list[str] = []

        class Sleepy(BaseAgent):
            async def _run_async_impl(self, ctx: Any) -> Any:
                try:
                    yield Event(author=self.name, message="zzz")
                    await asyncio.sleep(60)
                finally:
                    closed.append("agent")

        conversation = talk(Sleepy(name="s"), plugins=[Watch(log)])

        async def run() -> None:
            task = asyncio.create_task(conversation.send("go"))
            while len(log) < 3:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(run())
        assert closed == ["agent"]
        assert log[-2:] == ["on_run_error CancelledError", "after_run with 2 stored"]
        assert len(conversation.session.events) == 2

    def test_after_the_caller_leaves(self, talk: Any) -> None:
        log: list[Any] = []
        made: list[Any] = []
        conversation = talk(Steps(name="a", log=made), plugins=[Watch(log)])

        async def run() -> None:
            stream = conversation.runner.run_async(new_message="go", **WHERE)
            async for _ in stream:
                break
            await stream.aclose()

        asyncio.run(run())
        assert made == ["a makes 0"]
        assert log[-1] == "after_run with 2 stored"
        assert not [entry for entry in log if "error" in entry]

    def test_an_observer_cannot_end_the_round(self, talk: Any) -> None:
        log: list[Any] = []

        class Chatty(Watch):
            async def after_run_callback(self, *, invocation_context: Any) -> Any:
                await super().after_run_callback(invocation_context=invocation_context)
                return "an answer that nobody asked for"

        talk(Steps(name="a", log=[], count=0), plugins=[Chatty(log, "one"), Watch(log, "two")]).say("go")
        assert log[-2:] == ["after_run with 1 stored"] * 2

    def test_a_failing_observer_is_named(self, talk: Any) -> None:
        class Clumsy(BasePlugin):
            async def after_run_callback(self, *, invocation_context: Any) -> None:
                raise KeyError("x")

        with pytest.raises(PluginHookError, match=r"plugin 'clumsy' .* failed in after_run_callback"):
            talk(Steps(name="a", log=[], count=0), plugins=[Clumsy(name="clumsy")]).say("go")


class TestTheMessage:
    @pytest.mark.parametrize(
        "message",
        [
            "hi",
            Part(text="hi"),
            ["hi"],
            [Part(text="hi")],
            Content(parts=[Part(text="hi")]),
            Content(role="user", parts=[Part(text="hi")]),
            {"parts": [{"text": "hi"}]},
        ],
    )
    def test_its_forms(self, talk: Any, message: Any) -> None:
        conversation = talk(Steps(name="a", log=[], count=0))
        conversation.say(message)
        (event,) = conversation.session.events
        assert event.author == "user"
        assert event.content == Content(role="user", parts=[Part(text="hi")])

    def test_googles_content_is_taken(self, talk: Any) -> None:
        foreign = pytest.importorskip("google.genai.types")
        conversation = talk(Steps(name="a", log=[], count=0))
        conversation.say(
            foreign.Content(
                role="user",
                parts=[
                    foreign.Part(text="hi"),
                    foreign.Part.from_bytes(data=b"\x00\xff", mime_type="image/png"),
                ],
            )
        )
        content = conversation.session.events[0].content
        assert type(content.parts[0]).__module__.startswith("newel_types")
        assert (content.parts[0].text, content.parts[1].inline_data.data) == ("hi", b"\x00\xff")
        assert conversation.session.model_dump_json()

    def test_it_is_not_shared_with_the_caller(self, talk: Any) -> None:
        parts = [
            Part(text="hi", part_metadata={"k": [1]}),
            Part(text="plain"),
            Part.from_bytes(data=b"x", mime_type="a/b"),
        ]
        message = Content(role="user", parts=parts)
        conversation = talk(Steps(name="a", log=[], count=0))
        conversation.say(message)
        message.role = "model"  # and it is not frozen
        parts[0].part_metadata["k"].append(2)  # type: ignore[index]
        parts[1].text = "changed"
        parts[2].inline_data.data = b"y"  # type: ignore[union-attr]
        parts.clear()
        content = conversation.session.events[0].content
        assert content.role == "user"
        assert content.parts[0].part_metadata == {"k": [1]}
        assert [p.text for p in content.parts] == ["hi", "plain", None]
        assert content.parts[2].inline_data.data == b"x"

    @settings(max_examples=50, deadline=None)
    @given(
        st.builds(
            Part,
            text=st.one_of(st.none(), st.text()),
            thought=st.one_of(st.none(), st.booleans()),
            thought_signature=st.one_of(st.none(), st.binary()),
            part_metadata=st.one_of(st.none(), st.just({"a": 1})),
            function_call=st.one_of(st.none(), st.just(FunctionCall(name="f", args={"x": [1]}))),
        )
    )
    def test_nothing_of_a_part_is_lost(self, part: Part) -> None:
        from newel_kernel._internal.reception import received

        assert received(Content(parts=[part])).parts == [part]

    @pytest.mark.parametrize(
        "message", ["", [], Content(role="user"), Content(role="user", parts=[]), {"role": "user"}]
    )
    def test_one_without_parts_is_refused(self, talk: Any, message: Any) -> None:
        conversation = talk(Steps(name="a", log=[], count=0))
        if message == "":
            conversation.say(message)  # an empty text is a text
            return
        with pytest.raises(ConfigurationError, match="the message has no parts"):
            conversation.say(message)
        assert conversation.session.events == []

    def test_a_text_that_is_none_is_refused(self, talk: Any) -> None:
        with pytest.raises(ConfigurationError, match="text must be a string, not int"):
            talk(Steps(name="a", log=[])).say(Content(parts=[Part(text=5)]))  # type: ignore[arg-type]

    def test_without_any_message_there_is_nothing_to_do(self, talk: Any) -> None:
        with pytest.raises(ConfigurationError, match="run_async needs a `new_message` or the `invocation_id`"):
            talk(Steps(name="a", log=[])).say(None)

    def test_a_tool_result_joins_the_branch_of_its_call(self, talk: Any) -> None:
        class Asker(BaseAgent):
            async def _run_async_impl(self, ctx: Any) -> Any:
                part = Part(function_call=FunctionCall(name="ask", id="c1"))
                yield Event(
                    author=self.name,
                    branch="a.b",
                    isolation_scope="scope",
                    long_running_tool_ids={"c1"},
                    invocation_id=ctx.invocation_id,
                    content=Content(role="model", parts=[part]),
                )

        def answer(id: str) -> Content:
            return Content(parts=[Part(function_response=FunctionResponse(id=id, name="ask", response={"x": 1}))])

        conversation = talk(Asker(name="asker"))
        conversation.say("go", answer("c1"))
        event = conversation.session.events[2]
        assert (event.author, event.branch, event.isolation_scope) == ("user", "a.b", "scope")
        with pytest.raises(ConfigurationError, match=r"answers tool call\(s\) \['c9'\] that the session does not have"):
            conversation.say(answer("c9"))


class TestTheSession:
    def test_one_that_is_not_there_is_an_error_with_the_remedy(self) -> None:
        runner = Runner(
            app_name="tearoom",
            agent=Steps(name="a", log=[]),
            session_service=InMemorySessionService(),
            composition=compose("minimal"),
        )

        async def run() -> None:
            async for _ in runner.run_async(new_message="x", **WHERE):
                pass

        with pytest.raises(
            SessionNotFoundError, match=r"Session not found: s1 \(app 'tearoom', user 'ada'\); create it"
        ):
            asyncio.run(run())

    def test_the_distribution_brings_the_store(self) -> None:
        runner = Runner(agent=Steps(name="a", log=[]), composition=compose("minimal"))
        assert isinstance(runner.session_service, InMemorySessionService)
        assert runner.app_name == "a"
        assert runner.artifact_service is None

    def test_without_a_store_the_runner_says_how_to_get_one(self, extending: Any) -> None:
        composed = compose(extending(None, "plugins: [contents]\nrequest_chain: [contents]"))
        with pytest.raises(ConfigurationError, match=r"no session store: pass session_service=.* distribution 'house'"):
            Runner(agent=Steps(name="a", log=[]), composition=composed)

    def test_a_service_that_is_not_there_is_named(self, talk: Any) -> None:
        async def save(callback_context: Context) -> None:
            await callback_context.save_artifact("f", Part(text="x"))

        agent = LlmAgent(name="w", model=ScriptedModel(["ok"]), before_agent_callback=save)
        with pytest.raises(
            FeatureUnavailableError, match=r"artifact service is not initialized: pass Runner\(artifact_"
        ):
            talk(agent).say("go")

    def test_only_the_events_asked_for_are_loaded(self, talk: Any) -> None:
        from newel_kernel import GetSessionConfig

        model = ScriptedModel(["1", "2", "3"])
        conversation = talk(LlmAgent(name="w", model=model))
        conversation.say("a", "b")
        conversation.say("c", run_config=RunConfig(get_session_config=GetSessionConfig(num_recent_events=1)))
        assert [len(request.contents) for request in model.requests] == [1, 3, 2]
        assert len(conversation.session.events) == 6


class TestWhoAnswers:
    def tree(self, **fields: Any) -> LlmAgent:
        cook = LlmAgent(name="cook", model=ScriptedModel(["cooked", "cooked", "cooked"]), **fields)
        pipeline = SequentialAgent(name="line", sub_agents=[LlmAgent(name="deep", model=ScriptedModel(["deep"] * 3))])
        return LlmAgent(name="host", model=ScriptedModel(["hosted"] * 3), sub_agents=[cook, pipeline])

    @pytest.mark.parametrize(
        ("events", "fields", "answers"),
        [
            ([], {}, "host"),
            ([Event(author="cook", message="x")], {}, "cook"),
            ([Event(author="cook", message="x"), Event(author="user", message="y")], {}, "cook"),
            ([Event(author="cook", message="x")], {"disallow_transfer_to_parent": True}, "host"),
            ([Event(author="deep", message="x")], {}, "host"),
            ([Event(author="cook", message="x"), Event(author="host", message="y")], {}, "host"),
            ([Event(author="cook", message="x"), Event(author="stranger", message="y")], {}, "cook"),
            (
                [Event(author="cook", message="x"), Event(author="line", actions=EventActions(end_of_agent=True))],
                {},
                "cook",
            ),
            ([Event(author="cook", actions=EventActions(agent_state={"x": 1}))], {}, "host"),
        ],
    )
    def test_the_last_author_who_may_keep_the_conversation(
        self, talk: Any, events: list[Event], fields: Any, answers: str
    ) -> None:
        conversation = talk(self.tree(**fields))

        async def run() -> list[Event]:
            service = conversation.service
            session = await service.create_session(app_name="tearoom", **WHERE)
            for event in events:
                await service.append_event(session, event.model_copy(deep=True))
            return await conversation.send("go")  # type: ignore[no-any-return]

        assert asyncio.run(run())[0].author == answers

    def test_the_one_who_asked_gets_the_answer(self, talk: Any) -> None:
        conversation = talk(self.tree(disallow_transfer_to_parent=True))
        part = Part(function_call=FunctionCall(name="ask", id="c1"))

        async def run() -> list[Event]:
            session = await conversation.service.create_session(app_name="tearoom", **WHERE)
            asked = Event(author="deep", content=Content(role="model", parts=[part]), long_running_tool_ids={"c1"})
            await conversation.service.append_event(session, asked)
            response = FunctionResponse(id="c1", name="ask", response={})
            return await conversation.send(Content(parts=[Part(function_response=response)]))  # type: ignore[no-any-return]

        assert asyncio.run(run())[0].author == "deep"


class TestResuming:
    def test_only_a_resumable_app_resumes(self, talk: Any) -> None:
        with pytest.raises(ConfigurationError, match="invocation_id: e-1 is provided but the app is not resumable"):
            talk(Steps(name="a", log=[])).say(None, invocation_id="e-1")

    def test_an_unknown_invocation_is_refused(self, talk: Any) -> None:
        with pytest.raises(ConfigurationError, match="the session 's1' has no invocation 'e-1' to resume"):
            talk(Steps(name="a", log=[]), resumable=True).say(None, invocation_id="e-1")

    def test_an_invocation_that_ended_yields_nothing(self, talk: Any) -> None:
        class Ending(CheckpointingAgent):
            async def _run_async_impl(self, ctx: Any) -> Any:
                ctx.set_agent_state(self.name, end_of_agent=True)
                yield self._create_agent_state_event(ctx)

        conversation = talk(Ending(name="a"), resumable=True)
        (event,) = conversation.say("go")
        assert event.actions.end_of_agent is True
        assert conversation.say(None, invocation_id=event.invocation_id) == []
        assert len(conversation.session.events) == 2


class TestMaking:
    def test_agent_and_app_exclude_each_other(self) -> None:
        app = SimpleNamespace(name="x", root_agent=Steps(name="a", log=[]), plugins=[], resumability_config=None)
        with pytest.raises(ConfigurationError, match="takes either `app`, or `agent`"):
            Runner(app=app, agent=Steps(name="b", log=[]), composition=compose("minimal"))
        with pytest.raises(ConfigurationError, match="needs an `agent`"):
            Runner(composition=compose("minimal"))
        assert Runner(app=app, composition=compose("minimal")).app_name == "x"

    def test_two_agents_of_one_name_are_refused_with_their_parents(self) -> None:
        deep = SequentialAgent(name="line", sub_agents=[Steps(name="twin", log=[])])
        tree = SequentialAgent(name="root", sub_agents=[Steps(name="twin", log=[]), deep])
        with pytest.raises(ConfigurationError) as caught:
            Runner(agent=tree, composition=compose("minimal"))
        message = str(caught.value)
        assert message.startswith("two agents of the tree 'root' are named 'twin' ")
        assert "under 'root'" in message
        assert "under 'line'" in message

    def test_plugins_may_register_things(self, talk: Any) -> None:
        from newel_kernel import RequestProcessor

        async def run(ctx: Any, request: Any) -> None:
            request.append_instructions(["registered"])

        class Plugin:
            @hookimpl
            def register_request_processors(self) -> list[RequestProcessor]:
                return [RequestProcessor(name="mine", run=run, after=("identity",))]

        model = ScriptedModel(["ok"])
        talk(LlmAgent(name="w", model=model), plugins=[Plugin()]).say("go")
        assert "registered" in str(model.requests[0].config.system_instruction)

    def test_closing_closes_toolsets_and_plugins_and_reports_every_failure(self, talk: Any) -> None:
        closed: list[str] = []

        class Tools(BaseToolset):
            def __init__(self, name: str, error: Any = None) -> None:
                super().__init__()
                self.name, self.error = name, error

            async def get_tools(self, readonly_context: Any = None) -> list[Any]:
                return []

            async def close(self) -> None:
                closed.append(self.name)
                if self.error == "hang":
                    await asyncio.sleep(60)
                if self.error:
                    raise self.error

        class Closing(BasePlugin):
            async def close(self) -> None:
                closed.append(self.name)

        child = LlmAgent(name="child", tools=[Tools("c"), Tools("hangs", "hang")])
        agent = LlmAgent(name="w", tools=[Tools("a", OSError("stuck")), Tools("b"), len], sub_agents=[child])
        conversation = talk(agent, plugins=[Closing(name="p")])
        with pytest.raises(RuntimeError, match="not everything closed: Tools: OSError: stuck; Tools: TimeoutError"):
            asyncio.run(conversation.runner.close(0.05))
        assert closed == ["a", "b", "c", "hangs", "p"]

    def test_a_runner_is_a_context_manager(self, talk: Any) -> None:
        async def run() -> None:
            async with talk(Steps(name="a", log=[])).runner as runner:
                assert runner.app_name == "tearoom"

        asyncio.run(run())
