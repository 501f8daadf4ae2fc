"""What may come to a paused invocation: a part of the answers, answers to several askers, something else, nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from kinds import CONFIRM, Caller, answer, make_runner, send, unanswered
from test_crashes import DeathError, MortalStore

from newel.agents import BaseAgent, Context, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from newel.apps import App, ResumabilityConfig
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import AgentTool, FunctionTool, LongRunningFunctionTool, exit_loop
from newel_kernel import ConfigurationError, Event, Session
from newel_types import Content, FunctionCall, FunctionResponse, Part


class Talk:
    """A conversation with a resumable app."""

    def __init__(
        self, root: BaseAgent, *, store: Any = None, distribution: str = "standard", resumable: bool = True
    ) -> None:
        self.store = store or InMemorySessionService()
        app = App(name="app", root_agent=root, resumability_config=ResumabilityConfig(is_resumable=resumable))
        self.runner = Runner(app=app, session_service=self.store, auto_create_session=True, distribution=distribution)

    def send(self, message: Any = None, invocation_id: str | None = None, **options: Any) -> list[Event]:
        async def main() -> list[Event]:
            run = self.runner.run_async(
                user_id="ada", session_id="s", new_message=message, invocation_id=invocation_id, **options
            )
            return [event async for event in run]

        return asyncio.run(main())

    @property
    def session(self) -> Session:
        session = asyncio.run(self.store.get_session(app_name="app", user_id="ada", session_id="s"))
        assert session is not None
        return session

    @property
    def waiting(self) -> list[str]:
        return list(asyncio.run(unanswered(self.store, "s")))

    @property
    def invocation_id(self) -> str:
        return self.session.events[0].invocation_id


def careful(ran: list[str], name: str = "clerk", calls: Sequence[str] = ("/a",), **tool: Any) -> LlmAgent:
    def wipe(path: str) -> str:
        """Wipe a path."""
        ran.append(path)
        return "wiped"

    steps: list[Any] = [[FunctionCall(name="wipe", args={"path": path}) for path in calls], "done", "more", "even more"]
    options = {"require_confirmation": True, **tool}
    return LlmAgent(name=name, model=ScriptedModel(steps), tools=[FunctionTool(wipe, **options)])


def texts(events: Sequence[Event]) -> list[str]:
    return [part.text for e in events for part in (e.content.parts or () if e.content else ()) if part.text]


def test_it_stays_paused_until_all_is_answered() -> None:
    ran: list[str] = []
    talk = Talk(careful(ran, calls=("/a", "/b")))
    talk.send("go")
    first, second = talk.waiting
    assert texts(talk.send(answer([second]))) == []
    assert ran == ["/b"]
    assert talk.send(None, talk.invocation_id) == []
    assert texts(talk.send(answer([first]), talk.invocation_id)) == ["done"]
    assert ran == ["/b", "/a"]


def test_one_message_may_answer_several_agents() -> None:
    ran: list[str] = []
    root = ParallelAgent(name="both", sub_agents=[careful(ran, "one", ["/1"]), careful(ran, "two", ["/2"])])
    talk = Talk(root)
    talk.send("go")
    events = talk.send(answer(talk.waiting), state_delta={"mood": "good"})
    assert sorted(ran) == ["/1", "/2"]
    assert texts(events) == ["done", "done"]
    answers = [event for event in talk.session.events if event.author == "user"][1:]
    assert sorted(str(event.branch) for event in answers) == ["both.one", "both.two"]
    assert talk.session.state["mood"] == "good"


def test_an_answer_finds_its_invocation_by_itself_while_that_is_open() -> None:
    talk = Talk(careful([]))
    talk.send("go")
    (request,) = talk.waiting
    assert {event.invocation_id for event in talk.send(answer([request]))} == {talk.invocation_id}
    (refusal, _) = talk.send(answer([request]))
    assert refusal.error_code == "ANSWERED_BEFORE"
    assert refusal.invocation_id != talk.invocation_id


@pytest.mark.parametrize("resumed", ["the other", "none there is"])
def test_an_answer_goes_where_it_was_asked_for_whatever_invocation_is_named(
    resumed: str, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[str] = []
    talk = Talk(careful(ran))
    talk.send("go")
    (request,) = talk.waiting
    other = talk.send("something else")[-1].invocation_id
    assert other != talk.invocation_id
    named = other if resumed == "the other" else resumed
    events = talk.send(answer([request]), named)
    (line,) = caplog.messages
    assert f"belongs to the invocation {talk.invocation_id!r}" in line
    assert line.endswith(f"the invocation_id {named!r} given with it is ignored: leave it out")
    assert {event.invocation_id for event in events} == {talk.invocation_id}
    assert texts(events) == ["more"]
    assert ran == ["/a"]


def test_an_agent_whose_end_has_an_answer_of_a_callback_has_ended() -> None:
    def farewell(callback_context: Context) -> Content:
        return Content(role="model", parts=[Part(text="bye")])

    model = ScriptedModel(["hello", "again"])
    talk = Talk(LlmAgent(name="clerk", model=model, after_agent_callback=farewell))
    assert texts(talk.send("go")) == ["hello", "bye"]
    before = [event.id for event in talk.session.events]
    assert talk.send(None, talk.invocation_id) == []
    assert [event.id for event in talk.session.events] == before
    assert len(model.requests) == 1


def test_side_by_side_such_an_agent_has_ended_whatever_others_said_meanwhile() -> None:
    def farewell(callback_context: Context) -> Content:
        return Content(role="model", parts=[Part(text="bye")])

    models = [ScriptedModel(["hello", "again"]) for _ in range(2)]
    agents = [LlmAgent(name=f"a{n}", model=m, after_agent_callback=farewell) for n, m in enumerate(models)]
    talk = Talk(ParallelAgent(name="both", sub_agents=agents))
    talk.send("go")
    said = {name: [e for e in talk.session.events if e.author == name] for name in ("user", "both", "a0", "a1")}
    begin, one, two = [*said["user"], *said["both"]], said["a0"], said["a1"]
    *before, bye = one
    talk.store = InMemorySessionService()

    async def crashed() -> None:
        session = await talk.store.create_session(app_name="app", user_id="ada", session_id="s")
        for event in [*begin[:-1], *before, two[0], bye]:
            await talk.store.append_event(session, event.model_copy())

    asyncio.run(crashed())
    talk.runner.session_service = talk.store
    assert texts(talk.send(None, talk.invocation_id)) == ["bye"]  # of the other one, which had not ended
    assert [len(model.requests) for model in models] == [1, 1]


def test_an_agent_that_a_loop_runs_again_after_such_an_answer_goes_on_where_it_died() -> None:
    def farewell(callback_context: Context) -> Content:
        return Content(role="model", parts=[Part(text="bye")])

    def look() -> str:
        """Look."""
        return "seen"

    steps = ["one", FunctionCall(name="look", args={}), "two"]
    agent = LlmAgent(name="clerk", model=ScriptedModel(steps), tools=[look], after_agent_callback=farewell)
    store = MortalStore()
    talk = Talk(LoopAgent(name="loop", max_iterations=2, sub_agents=[agent]), store=store)
    store.left, store.before = 8, False  # the result of the second round's call is stored, and no more
    with pytest.raises(DeathError):
        talk.send("go")
    store.revive()
    assert texts(talk.send(None, talk.invocation_id)) == ["two", "bye"]


def test_what_the_user_says_instead_ends_the_waiting() -> None:
    ran: list[str] = []
    talk = Talk(careful(ran))
    talk.send("go")
    events = talk.send("never mind", talk.invocation_id)
    assert texts(events) == ["done"]
    assert events[-1].actions.end_of_agent
    assert ran == []


def test_a_long_running_call_pauses_its_agent_and_its_answer_continues_it() -> None:
    def approve(item: str) -> dict[str, str]:
        """Ask a human."""
        return {"status": "pending"}

    steps = [FunctionCall(name="approve", args={"item": "x"}), "it is approved"]
    agent = LlmAgent(name="clerk", model=ScriptedModel(steps), tools=[LongRunningFunctionTool(approve)])
    talk = Talk(SequentialAgent(name="all", sub_agents=[agent]))
    call = next(call for event in talk.send("go") for call in event.get_function_calls())
    answered = FunctionResponse(id=call.id, name="approve", response={"status": "approved"})
    assert texts(talk.send(Part(function_response=answered))) == ["it is approved"]


def test_an_agent_as_a_tool_passes_on_what_its_own_long_running_call_waits_for() -> None:
    def approve() -> None:
        """Ask a human."""

    inner = LlmAgent(
        name="inner",
        model=ScriptedModel([FunctionCall(name="approve", args={}), "granted"]),
        tools=[LongRunningFunctionTool(approve)],
        output_key="outcome",
    )
    model = ScriptedModel([FunctionCall(name="inner", args={"request": "please"}), "so be it"])
    talk = Talk(LlmAgent(name="outer", model=model, tools=[AgentTool(inner)]))
    (_, request) = talk.send("go")
    (call,) = request.get_function_calls()
    assert (request.author, request.long_running_tool_ids, call.name) == ("outer", {call.id}, "approve")
    events = talk.send(Part(function_response=FunctionResponse(id=call.id, name="approve", response={"ok": True})))
    assert events[0].get_function_responses()[0].response == {"result": "granted"}
    assert texts(events) == ["so be it"]
    assert talk.session.state["outcome"] == "granted"
    seen = [p for c in model.requests[-1].contents for p in c.parts or () if p.function_call or p.function_response]
    assert len(seen) == 2, "the outer model sees its own call and the result only"


def test_an_agent_as_a_tool_is_left_where_the_user_goes_on_without_answering() -> None:
    ran: list[str] = []
    model = ScriptedModel([FunctionCall(name="clerk", args={"request": "wipe"}), "as you like"])
    talk = Talk(LlmAgent(name="outer", model=model, tools=[AgentTool(careful(ran))]))
    talk.send("go")
    events = talk.send("something else", talk.invocation_id)
    assert "left unfinished" in str(events[0].get_function_responses()[0].response)
    assert texts(events) == ["as you like"]
    sessions = asyncio.run(talk.store.list_sessions(app_name="app", user_id="ada")).sessions
    assert [session.id for session in sessions] == ["s"]


@pytest.mark.parametrize("as_tool", [False, True])
def test_an_invocation_in_between_does_not_end_the_waiting(as_tool: bool) -> None:
    ran: list[str] = []
    clerk = careful(ran, calls=("/a", "/b"))
    steps = [FunctionCall(name="clerk", args={"request": "wipe"}), "it rains", "all done"]
    model = ScriptedModel(steps if as_tool else [])
    talk = Talk(LlmAgent(name="outer", model=model, tools=[AgentTool(clerk)]) if as_tool else clerk)
    talk.send("go")
    first, second = talk.waiting
    between = talk.send("how is the weather?")
    assert {event.invocation_id for event in between} != {talk.invocation_id}
    if as_tool:
        assert texts(between) == ["it rains"]
        parts = [part for content in model.requests[-1].contents for part in content.parts or ()]
        assert [part.text for part in parts if part.text] == ["go", "how is the weather?"]
        assert sum(p.function_call is not None for p in parts) == sum(p.function_response is not None for p in parts)
    assert texts(talk.send(answer([first]))) == []
    events = talk.send(answer([second]))
    assert ran == ["/a", "/b"]
    assert texts(events) == (["all done"] if as_tool else ["more"])
    assert {event.invocation_id for event in events} == {talk.invocation_id}


def test_an_escalation_before_a_crash_still_ends_the_loop() -> None:
    store = MortalStore()
    leaver = LlmAgent(name="leaver", model=Caller(model="caller", call="exit_loop"), tools=[exit_loop])
    talk = Talk(LoopAgent(name="loop", max_iterations=5, sub_agents=[leaver]), store=store)
    store.left = 5  # the message, a checkpoint, the call, its result, the end of the sub-agent
    with pytest.raises(DeathError):
        talk.send("go")
    store.revive()
    (end,) = talk.send(None, talk.invocation_id)
    assert (end.author, end.actions.end_of_agent) == ("loop", True)


@pytest.mark.parametrize("confirmed", [True, False])
@pytest.mark.parametrize("approval", [True, False])
def test_what_must_not_happen_twice_is_asked_about_before_it_is_repeated(confirmed: bool, approval: bool) -> None:
    ran: list[str] = []
    store = MortalStore()
    talk = Talk(careful(ran, effect="at_most_once", require_confirmation=approval), store=store)
    if approval:
        talk.send("go")
        store.left, store.before = 2, True  # the answer is stored, the result of the call is not
        with pytest.raises(DeathError):
            talk.send(answer(talk.waiting))
    else:
        store.left, store.before = 3, True
        with pytest.raises(DeathError):
            talk.send("go")
    assert ran == ["/a"]
    store.revive()
    request, result = talk.send(None, talk.invocation_id)
    assert request.get_function_calls()[0].name == CONFIRM
    assert "interrupted" in str(request.get_function_calls()[0].args)
    assert result.get_function_responses()[0].response == {"error": "This tool call waits for the user's answer."}
    assert talk.send(None, talk.invocation_id) == []
    events = talk.send(answer(talk.waiting, confirmed))
    assert ran == (["/a", "/a"] if confirmed else ["/a"])
    told = str(events[0].get_function_responses()[0].response)
    assert ("wiped" if confirmed else "not repeated") in told
    assert texts(events)[:1] == ["done"]


@pytest.mark.parametrize("resumable", [True, False])
def test_an_approval_sent_again_after_a_crash_asks_before_it_repeats(resumable: bool) -> None:
    ran: list[str] = []
    store = MortalStore()
    talk = Talk(careful(ran, effect="at_most_once"), store=store, resumable=resumable)
    talk.send("go")
    approval = answer(talk.waiting)
    store.left, store.before = 2, True  # the answer is stored, the result of the call is not
    with pytest.raises(DeathError):
        talk.send(approval)
    store.revive()
    events = talk.send(approval)
    assert ran == ["/a"]
    assert [call.name for event in events for call in event.get_function_calls()] == [CONFIRM]
    talk.send(answer(talk.waiting))
    assert ran == ["/a", "/a"]


def test_of_two_runs_with_the_same_approval_one_repeats_nothing() -> None:
    ran: list[str] = []
    root = careful(ran, effect="at_most_once")
    talk = Talk(root)

    async def main() -> None:
        requests = list(await unanswered(talk.store, "s"))
        await asyncio.gather(*(send(talk.runner, "s", answer(requests)) for _ in "ab"), return_exceptions=True)

    talk.send("go")
    asyncio.run(main())
    assert len(ran) <= 1


@pytest.mark.parametrize("distribution", ["adk", "standard"])
@pytest.mark.parametrize("resumable", [True, False])
def test_an_approved_call_whose_result_comes_later_runs_once(resumable: bool, distribution: str) -> None:
    ran: list[str] = []

    def order(item: str) -> None:
        """Order an item."""
        ran.append(item)

    steps = [FunctionCall(name="order", args={"item": "car"}), "ordered", "it came", "more"]
    tool = LongRunningFunctionTool(order, require_confirmation=True)
    root = LlmAgent(name="clerk", model=ScriptedModel(steps), tools=[tool])
    talk = Talk(root, distribution=distribution, resumable=resumable)
    (call,) = [c for event in talk.send("go") for c in event.get_function_calls() if c.name == "order"]
    approval = answer(talk.waiting)
    assert not any(event.error_code for event in talk.send(approval))
    assert [event.error_code for event in talk.send(approval) if event.error_code] == ["ANSWERED_BEFORE"]
    result = FunctionResponse(id=call.id, name="order", response={"status": "delivered"})
    assert texts(talk.send(Part(function_response=result)))
    assert ran == ["car"]


@pytest.mark.parametrize("resumable", [True, False])
def test_a_request_that_was_rewound_cannot_be_approved(resumable: bool) -> None:
    ran: list[str] = []
    talk = Talk(careful(ran), resumable=resumable)
    talk.send("go")
    (request,) = talk.waiting
    where = {"user_id": "ada", "session_id": "s"}
    asyncio.run(talk.runner.rewind_async(**where, rewind_before_invocation_id=talk.invocation_id))
    stored = len(talk.session.events)
    with pytest.raises(ConfigurationError, match=f"{request}.* that the session does not have"):
        talk.send(answer([request]))
    assert len(talk.session.events) == stored
    assert ran == []


def test_without_the_plugin_that_asks_it_is_not_repeated() -> None:
    ran: list[str] = []
    store = MortalStore()
    root = careful(ran, effect="at_most_once", require_confirmation=False)
    talk = Talk(root, store=store, distribution="minimal")
    store.left, store.before = 3, True
    with pytest.raises(DeathError):
        talk.send("go")
    store.revive()
    events = talk.send(None, talk.invocation_id)
    assert "must not run twice" in str(events[0].get_function_responses()[0].response)
    assert ran == ["/a"]


def test_an_app_that_is_not_resumable_says_so() -> None:
    runner = Runner(
        agent=careful([]), app_name="app", session_service=InMemorySessionService(), auto_create_session=True
    )
    with pytest.raises(ConfigurationError, match="is not resumable"):
        asyncio.run(send(runner, "s", "go", "e-1"))


def test_an_invocation_that_the_session_does_not_have() -> None:
    runner = make_runner("loop", "loop", InMemorySessionService(), lambda tool, call: None, "standard")
    with pytest.raises(ConfigurationError, match="no invocation 'e-1'"):
        asyncio.run(send(runner, "s", None, "e-1"))


def test_side_by_side_agents_have_ended_when_each_has() -> None:
    def early(callback_context: Context) -> Content:
        return Content(role="model", parts=[Part(text="early")])

    def root(**fields: Any) -> ParallelAgent:
        first = LlmAgent(name="one", model=ScriptedModel(["1"]), **fields)
        return ParallelAgent(name="both", sub_agents=[first, LlmAgent(name="two", model=ScriptedModel(["2"]))])

    def ended(events: Sequence[Event]) -> set[str]:
        return {event.author for event in events if event.actions.end_of_agent}

    assert ended(Talk(root()).send("go")) == {"one", "two", "both"}
    assert ended(Talk(root(before_agent_callback=early)).send("go")) == {"two"}
