"""The kernel's runner with chains made by hand: a run as it is where no plugin of the house has a part in it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.kernel.stores import DictSessionService

from newel_kernel import (
    Admission,
    BaseAgent,
    Bound,
    Chains,
    ConfigurationError,
    Descriptor,
    Epilogue,
    Event,
    InvocationContext,
    Message,
    Observer,
    Prologue,
    ReadonlyContext,
    RequestProcessor,
    RunConfig,
    Runner,
    Session,
    SessionError,
    SessionGate,
    Signal,
    TurnPolicy,
    open_session,
)
from newel_types import Content, FunctionResponse, Part

WHERE = {"user_id": "ada", "session_id": "s1"}
ANSWER = Part(function_response=FunctionResponse(id="call", name="brew", response={"result": "tea"}))


class Shelf:
    """A registry of these descriptors."""

    def __init__(self, *descriptors: Descriptor) -> None:
        self.descriptors = descriptors

    def all(self, kind: type[Any]) -> list[Any]:
        return [one for one in self.descriptors if type(one) is kind]


class Clerk(BaseAgent):
    """Notes its context, and yields these events."""

    seen: Any = None
    events: Any = ()

    async def _run_async_impl(self, ctx: InvocationContext) -> Any:
        self.seen.append(ctx)
        for event in self.events:
            yield event.model_copy(update={"id": Event.new_id()})


def clerk(*events: Event, **fields: Any) -> Clerk:
    return Clerk(name="clerk", seen=[], events=events, **fields)


def reply(words: str, **fields: Any) -> Event:
    return Event(author="clerk", message=words, **fields)


def make(
    root: BaseAgent,
    /,
    *descriptors: Descriptor,
    runner_type: type[Runner] = Runner,
    request_chain: Any = (),
    **fields: Any,
) -> Runner:
    fields = {"app_name": "tearoom", "agent": root, "auto_create_session": True} | fields
    chains = Chains(registry=Shelf(*descriptors), request_chain=request_chain)  # type: ignore[arg-type]
    return runner_type(composition=chains, session_service=DictSessionService(), **fields)


async def all_of(events: Any) -> list[Event]:
    return [event async for event in events]


def say(runner: Runner, words: Any = "tea", **options: Any) -> list[Event]:
    return asyncio.run(all_of(runner.run_async(new_message=words, **WHERE, **options)))


async def _stored(runner: Runner, session_id: str = "s1") -> Session:
    where = {"app_name": runner.app_name, "user_id": "ada", "session_id": session_id}
    session = await runner.session_service.get_session(**where)
    assert session is not None
    return session


def stored(runner: Runner) -> list[Event]:
    return asyncio.run(_stored(runner)).events


def texts(events: list[Event]) -> list[Any]:
    return [(event.author, event.content.parts[0].text) for event in events if event.content and event.content.parts]


def test_an_app_or_an_agent_is_run_under_a_name() -> None:
    agent = clerk()
    app = SimpleNamespace(name="house", root_agent=agent)
    assert make(agent, app_name=None).app_name == "clerk"
    assert make(agent).app_name == "tearoom"
    runner = make(agent, app=app, agent=None, app_name=None)
    assert (runner.app_name, runner.agent, runner.app) == ("house", agent, app)
    assert make(agent, app=app).app_name == "tearoom"
    assert make(agent).app is None
    with pytest.raises(ConfigurationError, match="Runner needs an `agent` \\(with `app_name`\\) or an `app`"):
        make(agent, agent=None)


def test_an_invocation_shares_what_its_runner_has() -> None:
    agent, config = clerk(reply("here you are")), RunConfig()
    runner = make(agent, app=SimpleNamespace(name="house", root_agent=agent))
    assert texts(say(runner, run_config=config)) == [("clerk", "here you are")]
    (ctx,) = agent.seen
    assert ctx.session_service is runner.session_service
    assert (ctx.agent, ctx.app, ctx.run_config) == (agent, runner.app, config)
    assert (ctx.app_name, ctx.user_id, ctx.branch, ctx.mode) == ("tearoom", "ada", None, None)
    assert ctx.composition.registry is runner.composition.registry
    assert ctx.user_content.parts[0].text == "tea"
    assert ctx.invocation_id == stored(runner)[0].invocation_id
    assert texts(stored(runner)) == [("user", "tea"), ("clerk", "here you are")]
    say(runner)
    assert agent.seen[1].run_config == RunConfig()
    assert [event.touched_actions for event in stored(runner)] == [None] * 4


def test_a_message_brings_a_state_that_is_its_own() -> None:
    runner, state = make(clerk(reply("here you are"))), {"order": ["tea"]}
    say(runner, state_delta=state)
    state["order"].append("milk")
    assert asyncio.run(_stored(runner)).state == {"order": ["tea"]}
    assert stored(runner)[0].actions.state_delta == {"order": ["tea"]}


def test_a_message_keeps_thoughts_and_their_signatures() -> None:
    parts = [Part(text="hm", thought=True, thought_signature=b"s"), Part(text="tea", thought=False)]
    runner = make(clerk(reply("here you are")))
    say(runner, Content(parts=parts))
    assert stored(runner)[0].content == Content(role="user", parts=parts)


def test_a_message_that_no_turn_takes_is_not_stored() -> None:
    runner = make(clerk(reply("here you are")), TurnPolicy(messages=lambda ctx, turn: []))
    assert texts(say(runner, state_delta={"order": "tea"}, yield_user_message=True)) == [("clerk", "here you are")]
    assert texts(stored(runner)) == [("clerk", "here you are")]


def test_a_context_has_what_it_is_made_with() -> None:
    runner = make(clerk())
    session, app = Session(id="s1", app_name="house", user_id="bob"), SimpleNamespace(name="house")
    content = Content(role="user", parts=[Part(text="tea")])
    ctx = InvocationContext(
        runner.session_service, session, runner.agent, runner.composition, RunConfig(), "e-1", content, "a.b", app
    )
    assert (ctx.session, ctx.invocation_id, ctx.user_content, ctx.branch) == (session, "e-1", content, "a.b")
    assert (ctx.app, ctx.app_name, ctx.user_id) == (app, "house", "bob")
    shown = ReadonlyContext(ctx)
    assert (shown.user_content, shown.invocation_id, shown.agent_name) == (content, "e-1", "clerk")
    assert (shown.session, shown.user_id, shown.branch, shown.run_config) == (session, "bob", "a.b", ctx.run_config)
    session.state["order"] = "tea"
    assert dict(shown.state) == {"order": "tea"}
    with pytest.raises(TypeError):
        shown.state["order"] = "milk"  # type: ignore[index]
    child = clerk()
    view = ctx.for_agent(child)
    assert (view.agent, view.branch, view.stash, view.budget) == (child, "a.b", ctx.stash, ctx.budget)
    assert ctx.for_agent(runner.agent) is ctx


def test_the_user_s_event_is_yielded_where_it_is_asked_for() -> None:
    runner = make(clerk(reply("here you are")))
    assert texts(say(runner, yield_user_message=True)) == [("user", "tea"), ("clerk", "here you are")]


@pytest.mark.parametrize("config", [RunConfig(), RunConfig(custom_metadata={"k": 1})])
def test_a_chunk_does_not_reach_the_store(config: RunConfig) -> None:
    class Noting(DictSessionService):
        async def append_event(self, session: Session, event: Event) -> Event:
            appended.append(event)
            return await super().append_event(session, event)

    appended: list[Event] = []
    runner = make(clerk(reply("here", partial=True), reply("here you are")))
    runner.session_service = Noting()
    assert [event.partial for event in say(runner, run_config=config)] == [True, None]
    assert texts(appended) == [("user", "tea"), ("clerk", "here you are")]
    assert [event.custom_metadata for event in appended] == [config.custom_metadata] * 2


def test_a_new_session_is_worked_with_as_its_store_opens_it() -> None:
    class Opening(DictSessionService):
        async def open(self, **where: Any) -> Session | None:
            opened.append(await super().open(**where))
            return opened[-1]

    opened: list[Session | None] = []
    agent = clerk(reply("here you are"))
    runner = make(agent)
    runner.session_service = Opening()
    say(runner)
    assert opened[0] is None
    assert agent.seen[0].session is opened[1]


def test_a_new_session_keeps_the_id_that_its_store_gives_it() -> None:
    class Renaming(DictSessionService):
        async def create_session(self, *, session_id: str | None = None, **where: Any) -> Session:
            return await super().create_session(session_id=f"{session_id}-new", **where)

    runner = make(clerk(reply("here you are")))
    runner.session_service = Renaming()
    assert len(say(runner)) == 1
    assert texts(asyncio.run(_stored(runner, "s1-new")).events) == [("user", "tea"), ("clerk", "here you are")]


class Whispers:
    """A mode in which an agent repeats words, and what it whispers is not stored."""

    def __init__(self, *words: str, calls_hooks: bool = True) -> None:
        self.words, self.calls_hooks = words, calls_hooks
        self.seen: list[Any] = []

    def enter(self, ctx: InvocationContext) -> None:
        self.seen.append((ctx, ctx.user_content))

    async def start(self, agent: BaseAgent, ctx: InvocationContext) -> Any:
        for words in self.words:
            yield Event(ctx.invocation_id, agent.name, Content(role="model", parts=[Part(text=words)]))

    def stores(self, event: Event) -> bool:
        return bool(event.content and event.content.parts and event.content.parts[0].text != "psst")

    def finish(self, ctx: InvocationContext, error: BaseException | None) -> bool:
        self.seen.append(error)
        return self.calls_hooks


@pytest.mark.parametrize("calls_hooks", [True, False])
def test_a_mode_starts_agents_and_says_what_is_stored(calls_hooks: bool) -> None:
    signals: list[Signal] = []
    ends: list[str] = []

    async def after_run(**_: object) -> None:
        ends.append("hooks")

    def end(ctx: InvocationContext, error: BaseException | None) -> None:
        ends.append("epilogues")

    mode, config = Whispers("here", "psst", "you are", calls_hooks=calls_hooks), RunConfig()
    runner = make(clerk(), Observer(name="watch", notify=signals.append), Epilogue(name="end", run=end))
    hook = Bound("after_run_callback", after_run, "watch")
    runner.composition = replace(runner.composition, hooks={"after_run_callback": ((hook,), ())})
    events = asyncio.run(all_of(runner.invoke(**WHERE, message=Message(mode=mode), config=config)))
    assert texts(events) == [("clerk", "here"), ("clerk", "psst"), ("clerk", "you are")]
    assert texts(stored(runner)) == [("clerk", "here"), ("clerk", "you are")]
    (ctx, content), error = mode.seen
    assert (ctx.mode, ctx.run_config, content, error) == (mode, config, None, None)
    assert ends == (["hooks", "epilogues"] if calls_hooks else ["epilogues"])
    invocation = signals[0].operation
    assert (invocation.kind, invocation.session_id, invocation.subject) == ("invocation", "s1", runner)


def test_media_that_no_live_run_made_is_stored() -> None:
    image = Event(author="clerk", content=Content(role="model", parts=[Part.from_bytes(data=b"x", mime_type="a/b")]))
    runner = make(clerk(image))
    say(runner, run_config=RunConfig(custom_metadata={"k": 1}))
    assert stored(runner)[-1].content == image.content


def test_where_nobody_answers_only_the_epilogues_run() -> None:
    async def end(ctx: InvocationContext, error: BaseException | None) -> list[Event]:
        return [reply(f"closed: {error}")]

    agent = clerk(reply("here you are"))
    nobody = TurnPolicy(agent=lambda ctx: None)
    runner = make(agent, nobody, Epilogue(name="end", run=end))
    assert say(runner) == []
    assert texts(stored(runner)) == [("user", "tea"), ("clerk", "closed: None")]
    assert agent.seen == []


@pytest.mark.parametrize(("message", "continues"), [("tea", False), (ANSWER, True)], ids=["new", "an answer"])
def test_stages_for_continuations_run_only_in_a_run_that_continues_something(message: Any, *, continues: bool) -> None:
    ran: list[str] = []
    runner = make(
        clerk(reply("here you are")),
        Prologue(name="p", run=lambda ctx: ran.append("prologue")),
        Prologue(name="rare", run=lambda ctx: ran.append("rare prologue"), on_continuation=True),
        Epilogue(name="e", run=lambda ctx, error: ran.append("epilogue")),
        Epilogue(name="rare", run=lambda ctx, error: ran.append("rare epilogue"), on_continuation=True),
    )
    say(runner, message)
    rare = ["prologue", "rare prologue", "epilogue", "rare epilogue"]
    assert ran == (rare if continues else ["prologue", "epilogue"])


@pytest.mark.parametrize("how", ["left", "failed"])
def test_the_agent_s_events_are_closed_before_the_run_is_over(how: str) -> None:
    class Lasting(BaseAgent):
        async def _run_async_impl(self, ctx: InvocationContext) -> Any:
            try:
                yield reply("one")
                yield reply("two")
            finally:
                log.append("closed")

    class Full(DictSessionService):
        async def append_event(self, session: Session, event: Event) -> Event:
            if how == "failed" and texts([event]) == [("clerk", "two")]:
                raise OSError("disk full")
            return await super().append_event(session, event)

    async def end(ctx: InvocationContext, error: BaseException | None) -> None:
        log.append(f"over: {type(error).__name__}")

    async def run() -> None:
        events = runner.run_async(new_message="tea", **WHERE)
        await anext(events)
        if how == "left":
            await events.aclose()
        else:
            with pytest.raises(OSError, match="disk full"):
                await anext(events)
        assert log == ["closed", f"over: {'GeneratorExit' if how == 'left' else 'OSError'}"]

    log: list[str] = []
    runner = make(Lasting(name="lasting"), Epilogue(name="end", run=end))
    runner.session_service = Full()
    asyncio.run(run())


def test_a_run_that_resumes_brings_no_message_and_goes_on_under_its_id() -> None:
    def enter(ctx: InvocationContext, turn: Any, invocation_id: str | None) -> None:
        named.append((ctx.invocation_id, turn.content, invocation_id))

    named: list[Any] = []
    signals: list[Signal] = []
    agent = clerk(reply("here you are"))
    runner = make(agent, TurnPolicy(enter=enter), Observer(name="watch", notify=signals.append))
    events = asyncio.run(all_of(runner.run_async(invocation_id="e-7", **WHERE)))
    assert texts(events) == texts(stored(runner)) == [("clerk", "here you are")]
    assert named == [("e-7", None, "e-7")]
    assert signals[0].operation.invocation_id == "e-7"
    with pytest.raises(ConfigurationError, match="needs a `new_message` or the `invocation_id`"):
        runner.run_async(**WHERE)


@pytest.mark.parametrize(("message", "resumes"), [("tea", False), (None, True)])
@pytest.mark.parametrize("awaits", [True, False])
def test_a_run_is_let_in_and_out_of_its_session_by_the_gate(message: Any, resumes: bool, awaits: bool) -> None:
    steps: list[Any] = []

    async def enter(admission: Admission) -> Session:
        steps.append(("in", admission.user_id, admission.session_id, admission.creates, admission.resumes))
        return await open_session(admission)

    async def leave_later(admission: Admission) -> None:
        steps.append(("out", admission.session is agent.seen[0].session, admission.ending))

    def leave(admission: Admission) -> Any:
        return leave_later(admission) if awaits else leave_later(admission).close() or steps.append("out")

    def end(ctx: InvocationContext, error: BaseException | None) -> None:
        steps.append("epilogues")

    agent = clerk()
    gate = SessionGate(enter=enter, leave=leave)
    free = TurnPolicy(enter=lambda ctx, turn, invocation_id: None)
    runner = make(agent, free, gate, Epilogue(name="end", run=end))
    asyncio.run(all_of(runner.run_async(new_message=message, invocation_id="e-7", **WHERE)))
    assert steps == [("in", "ada", "s1", True, resumes), "epilogues", ("out", True, True) if awaits else "out"]


def test_a_gate_may_refuse_a_run_and_is_not_asked_to_take_it_back() -> None:
    async def enter(admission: Admission) -> Session:
        raise SessionError("closed today")

    left: list[Admission] = []
    runner = make(clerk(), SessionGate(enter=enter, leave=left.append))
    with pytest.raises(SessionError, match="closed today"):
        say(runner)
    with pytest.raises(SessionError, match="closed today"):
        asyncio.run(runner.session_in_use("ada", "s1").__aenter__())
    assert left == []


def test_a_gate_can_end_a_run_by_the_events_that_it_wraps() -> None:
    async def first(events: Any, admission: Admission) -> Any:
        async with aclosing(events):
            yield await anext(events)

    ends: list[Any] = []
    end = Epilogue(name="end", run=lambda ctx, error: ends.append(type(error)))
    runner = make(clerk(reply("here"), reply("you are")), SessionGate(around=first), end)
    assert texts(say(runner)) == [("clerk", "here")]
    assert ends == [GeneratorExit]


def test_what_uses_a_session_without_a_run_passes_the_gate_and_leaves_it_whatever_happens() -> None:
    seen: list[Any] = []

    async def enter(admission: Admission) -> Session:
        seen.append((admission.at_once, admission.resumes))
        return await open_session(admission)

    runner = make(clerk(), SessionGate(enter=enter, leave=lambda admission: seen.append(admission.ending)))

    async def use() -> None:
        async with runner.session_in_use("ada", "s1", at_once=True) as session:
            assert session.id == "s1"
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        asyncio.run(use())
    assert seen == [(True, False), True]


def test_a_gate_has_one_name() -> None:
    with pytest.raises(ConfigurationError, match="a SessionGate is named 'gate', not 'door'"):
        SessionGate(name="door")


def test_an_id_or_a_configuration_of_the_wrong_type_is_refused() -> None:
    runner = make(clerk())
    for fields, text in (
        ({"user_id": None}, "user_id must be a string, not None"),
        ({"session_id": 5}, "session_id must be a string, not 5"),
        ({"session_id": " "}, "the session id is blank"),
        ({"run_config": {}}, "run_config must be a RunConfig"),
    ):
        with pytest.raises(ConfigurationError, match=text):
            asyncio.run(all_of(runner.run_async(**{**WHERE, "new_message": "tea", **fields})))  # type: ignore[arg-type]


def test_the_steps_of_a_run_are_those_that_serve_its_app() -> None:
    def serves(app: Any) -> bool:
        return app is not None and app.name == "house"

    step = RequestProcessor(name="step", run=lambda ctx, request: None, serves=serves)
    app = SimpleNamespace(name="house", root_agent=clerk())
    assert make(clerk(), app=app, request_chain=(step,)).composition.request_steps == (step,)
    assert make(clerk(), request_chain=(step,)).composition.request_steps == ()


def test_an_invocation_is_observed_by_those_who_want_to() -> None:
    signals: list[Signal] = []
    watch = Observer(name="watch", notify=signals.append)
    busy = Observer(name="busy", notify=signals.append, enabled=lambda: False)
    runner = make(clerk(reply("here you are")), watch, busy)
    say(runner)
    invocation, agent, *_ = [one.operation for one in signals]
    assert (invocation.kind, invocation.name, invocation.session_id) == ("invocation", "tearoom", "s1")
    assert (invocation.invocation_id, invocation.subject, invocation.input) == (None, runner, "tea")
    assert (agent.kind, agent.name, agent.session_id, agent.subject) == ("agent", "clerk", "s1", runner.agent)
    assert agent.parent is invocation
    assert [one.phase for one in signals] == ["start", "start", "stop", "stop"]
    assert signals[-1].outcome == stored(runner)[-1]
