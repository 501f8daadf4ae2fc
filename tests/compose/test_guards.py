"""Guards: what the functions of a plugin raise or wrongly return names the plugin, the function and its line."""

from __future__ import annotations

import asyncio
import inspect
import signal
from collections.abc import Sequence
from typing import Any

import pytest

from newel import Agent, run
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.turns import pauses
from newel_compose import Composition, compose
from newel_compose._internal.functions import named, step
from newel_kernel import (
    Epilogue,
    Event,
    HookSignatureError,
    NewelError,
    Observer,
    PluginError,
    PluginHookError,
    Prologue,
    RequestProcessor,
    ResponseProcessor,
    ResultProcessor,
    ToolPolicy,
    ToolPreparation,
    TurnPolicy,
    hookimpl,
)
from newel_types import FunctionCall

#: Hook -> what makes a descriptor of a function.
KINDS: dict[str, Any] = {
    "request_processors": lambda run: RequestProcessor(name="odd", run=run, after=("contents",)),
    "response_processors": lambda run: ResponseProcessor(name="odd", run=run, after=("planning",)),
    "result_processors": lambda run: ResultProcessor(name="odd", run=run, after=("output_schema",)),
    "tool_preparations": lambda run: ToolPreparation(name="odd", run=run),
    "prologues": lambda run: Prologue(name="odd", run=run),
    "epilogues": lambda run: Epilogue(name="odd", run=run),
}


async def five(*args: object) -> Any:
    return 5


def plain_five(*args: object) -> Any:
    return 5


async def raising(*args: object) -> Any:
    raise ValueError("boom")


def plain_raising(*args: object) -> Any:
    raise ValueError("boom")


class Raising:
    """An object that can be called and awaited for."""

    async def __call__(self, *args: object) -> Any:
        raise ValueError("boom")


class Noted(ValueError):
    """An error that says something of its own."""

    def __init__(self) -> None:
        super().__init__("boom")
        self.add_note("have tea")


async def noted(*args: object) -> Any:
    raise Noted


def giving(hook: str, *descriptors: object) -> Any:
    """A plugin `mine` with these descriptors."""
    plugin = type("Mine", (), {f"register_{hook}": hookimpl(lambda self: list(descriptors))})()
    plugin.name = "mine"
    return plugin


def line(function: Any) -> int:
    return inspect.getsourcelines(function)[1]


def serve() -> str:
    """Serves."""
    return "tea"


def ask(*plugins: object) -> str:
    agent = Agent(name="waiter", model=ScriptedModel([FunctionCall(name="serve"), "tea"]), tools=[serve])
    return str(run(agent, "tea", plugins=plugins))


def who(hook: str) -> str:
    return f"the {hook.removesuffix('s').replace('_', ' ')} 'odd' of the plugin 'mine' (given directly, {__name__})"


@pytest.mark.parametrize("hook", KINDS)
@pytest.mark.parametrize("function", [five, plain_five])
def test_a_wrong_result_names_plugin_function_file_and_line(hook: str, function: Any) -> None:
    with pytest.raises(HookSignatureError) as caught:
        ask(giving(hook, KINDS[hook](function)))
    place = f"{function.__name__} (test_guards.py:{line(function)})"
    assert str(caught.value).startswith(f"{who(hook)}: {place} returned int; ")


@pytest.mark.parametrize("hook", KINDS)
@pytest.mark.parametrize("function", [raising, plain_raising, Raising()])
def test_an_error_keeps_its_type_and_names_its_plugin(hook: str, function: Any) -> None:
    with pytest.raises(ValueError, match="boom") as caught:
        ask(giving(hook, KINDS[hook](function)))
    assert caught.value.__notes__ == [f"raised in {who(hook)}"]


def test_an_error_with_a_note_of_its_own_names_its_plugin_too() -> None:
    with pytest.raises(Noted) as caught:
        ask(giving("prologues", KINDS["prologues"](noted)))
    assert caught.value.__notes__ == ["have tea", f"raised in {who('prologues')}"]


@pytest.mark.parametrize("hook", KINDS)
def test_what_is_right_is_left_alone(hook: str) -> None:
    called = []

    def plain(*args: object) -> None:
        called.append("plain")

    async def awaited(*args: object) -> Sequence[Event]:
        called.append("awaited")
        return []

    for function in (plain, awaited):
        assert ask(giving(hook, KINDS[hook](function))) == "tea"
    assert set(called) == {"plain", "awaited"}


def test_what_is_made_for_an_agent_is_guarded_too() -> None:
    step = RequestProcessor(name="odd", run=five, after=("contents",), for_agent=lambda agent: five)
    with pytest.raises(HookSignatureError, match=r"'odd' of the plugin 'mine'.* five .* returned int"):
        ask(giving("request_processors", step))


@pytest.mark.parametrize("question", ["applies_to", "serves", "for_agent"])
def test_a_question_that_raises_names_its_plugin(question: str) -> None:
    step: Any = RequestProcessor(name="odd", run=five, after=("contents",), **{question: plain_raising})
    with pytest.raises(ValueError, match="boom") as caught:
        ask(giving("request_processors", step))
    assert caught.value.__notes__ == [f"raised in {who('request_processors')}"]


@pytest.mark.parametrize(
    ("hook", "descriptor", "words"),
    [
        ("prologues", Prologue(name="odd", run=3), "returned 'odd' with run=3, which cannot be called"),  # type: ignore[arg-type]
        ("observers", Observer(name="odd", notify=line.__call__, enabled=line), "'odd' with enabled=line(function: "),  # type: ignore[arg-type]
        ("tool_policies", ToolPolicy(name="odd", wrap=lambda: None, after=("claims",)), "must take (call_tool)"),  # type: ignore[arg-type,misc]
        ("tool_policies", ToolPolicy(name="odd", wrap=lambda call: 3, after=("claims",)), "returned int; it must"),  # type: ignore[arg-type,return-value]
    ],
)
def test_what_cannot_be_called_is_refused_when_composing(hook: str, descriptor: Any, words: str) -> None:
    with pytest.raises(NewelError) as caught:
        compose("standard", plugins=[giving(hook, descriptor)])
    assert words in str(caught.value)
    assert "'mine'" in str(caught.value)


class Watcher(Observer):
    """An observer with a constructor of its own."""

    def __init__(self, seen: list[object]) -> None:
        super().__init__(name="watcher", notify=seen.append)


def test_a_class_of_descriptors_may_have_a_constructor_of_its_own() -> None:
    seen: list[object] = []
    assert ask(giving("observers", Watcher(seen))) == "tea"
    assert seen


#: Function of a `TurnPolicy` -> what a call of it gets.
TURNS = {
    "enter": (None, None, None),
    "messages": (None, None),
    "agent": (None,),
    "waits": (None,),
    "interrupted": (None, {}),
    "transfer": (None, None),
}


def with_turns(policy: TurnPolicy) -> Composition:
    """A composition whose policy of turns is this one of the plugin `mine`."""
    house = compose("standard").distribution.model_copy(update={"replace": {"turns": "mine"}})
    return compose(house, plugins=[giving("turn_policies", policy)])


def called(name: str, function: Any) -> Any:
    """What a composed policy, whose `name` is `function`, gives."""
    policy: Any = TurnPolicy(**{name: function})
    result = getattr(with_turns(policy).turns, name)(*TURNS[name])
    if name == "transfer":
        return list(result)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def of_turns() -> str:
    return f"the turn policy 'turns' of the plugin 'mine' (given directly, {__name__})"


@pytest.mark.parametrize("name", TURNS)
@pytest.mark.parametrize("function", [five, plain_five])
def test_a_wrong_result_of_a_policy_of_turns_names_its_function(name: str, function: Any) -> None:
    with pytest.raises(HookSignatureError) as caught:
        called(name, function)
    place = f"{function.__name__} (test_guards.py:{line(function)})"
    assert str(caught.value).startswith(f"{of_turns()}: {place} returned ")
    assert "return " in str(caught.value).split("returned ")[1]


@pytest.mark.parametrize("name", TURNS)
@pytest.mark.parametrize("function", [raising, plain_raising])
def test_an_error_of_a_policy_of_turns_names_its_plugin(name: str, function: Any) -> None:
    if function is raising and name != "interrupted":
        return  # a coroutine, which is refused above
    with pytest.raises(ValueError, match="boom") as caught:
        called(name, function)
    assert caught.value.__notes__ == [f"raised in {of_turns()}"]


def one_by_one(*args: object) -> Any:
    yield Event(author="waiter")
    yield "tea"


def then_raising(*args: object) -> Any:
    yield Event(author="waiter")
    raise ValueError("boom")


def test_what_follows_a_transfer_is_looked_at_one_by_one() -> None:
    with pytest.raises(HookSignatureError, match=r"one_by_one \(test_guards.py:\d+\) returned a list of str"):
        called("transfer", one_by_one)
    with pytest.raises(ValueError, match="boom") as caught:
        called("transfer", then_raising)
    assert caught.value.__notes__ == [f"raised in {of_turns()}"]


def test_a_policy_of_turns_must_take_what_it_gets_and_its_defaults_cost_nothing() -> None:
    with pytest.raises(HookSignatureError, match=r"'turns' with waits=.*must take \(ctx\)"):
        with_turns(TurnPolicy(waits=lambda: False))  # type: ignore[misc,arg-type]
    policy = TurnPolicy(waits=lambda ctx: False)
    turns = with_turns(policy).turns
    assert turns.agent is policy.agent
    assert turns.waits is not policy.waits
    assert compose("standard").turns.waits is pauses.waits  # newel's own is not wrapped


def test_a_policy_of_turns_of_a_stranger_runs() -> None:
    seen = []

    def waits(ctx: Any) -> bool:
        seen.append(ctx.agent.name)
        return False

    waiter = Agent(name="waiter", model=ScriptedModel(["tea"]))
    store, composed = InMemorySessionService(), with_turns(TurnPolicy(waits=waits))
    runner = Runner(agent=waiter, app_name="house", session_service=store, composition=composed)
    assert [event.author for event in asyncio.run(runner.run_debug("tea", quiet=True))] == ["waiter"]
    assert seen == ["waiter"]


def test_whom_a_distribution_trusts_is_not_guarded(site: Any, extending: Any) -> None:
    source = """
        from newel_kernel import TurnPolicy, hookimpl

        def waits(ctx):
            return False

        @hookimpl
        def register_turn_policies():
            return [TurnPolicy(waits=waits)]
        """
    site.install("newel-polite", plugins={"polite": "fake_polite"}, fake_polite=source)
    body = "replace: {turns: polite}"
    assert compose(extending("standard", body)).turns.waits.__name__ == "waits"
    guarded = compose(extending("standard", body)).turns.waits
    assert guarded.__code__.co_filename.endswith("functions.py")
    trusted = compose(extending("standard", f"{body}\ntrust: [newel, newel-polite]")).turns.waits
    assert trusted.__code__.co_filename.endswith("fake_polite.py")
    of_newel = compose(extending("standard", "trust: []")).turns.waits
    assert of_newel is not pauses.waits  # no package has a privilege of its own
    with pytest.raises(NewelError, match="`trust` names the package 'newell', which is not installed; did you mean"):
        compose(extending("standard", "trust: [newell]"))


def test_a_guarded_newel_runs_as_a_trusted_one(extending: Any) -> None:
    def events(distribution: Any) -> Any:
        def weather(city: str) -> str:
            """The weather."""
            return f"rain in {city}"

        model = ScriptedModel([FunctionCall(name="weather", args={"city": "Paris"}), "It rains."])
        runner = Runner(
            agent=Agent(name="waiter", model=model, tools=[weather]),
            app_name="house",
            session_service=InMemorySessionService(),
            composition=compose(distribution),
        )
        return [event.content for event in asyncio.run(runner.run_debug("tea", quiet=True))]

    def shown(contents: Any) -> list[str]:
        return [part.text or type(part).__name__ for content in contents for part in content.parts]

    assert shown(events(extending("standard", "trust: []"))) == shown(events("standard"))


class Odd(BaseException):
    """An error that is no Exception."""


#: Errors that end a program where nobody expects them.
ENDINGS = [SystemExit(0), SystemExit("done"), SystemExit, Odd("odd")]
#: The hooks that a turn with one tool call passes.
PASSED = [
    "on_user_message_callback",
    "before_run_callback",
    "before_agent_callback",
    "before_model_callback",
    "after_model_callback",
    "before_tool_callback",
    "after_tool_callback",
    "on_event_callback",
    "after_agent_callback",
]


def ending(error: Any, waits: bool) -> Any:
    def plain(*args: object, **keywords: object) -> Any:
        raise error

    async def waiting(*args: object, **keywords: object) -> Any:
        await asyncio.sleep(0)
        raise error

    return waiting if waits else plain


@pytest.mark.parametrize("hook", PASSED)
@pytest.mark.parametrize("error", ENDINGS, ids=repr)
@pytest.mark.parametrize("waits", [False, True])
def test_a_hook_that_exits_is_an_error_that_names_plugin_and_hook(hook: str, error: Any, waits: bool) -> None:
    plugin = type("Plugin", (), {"name": "guard", hook: hookimpl(ending(error, waits))})()
    agent = Agent(name="a", model=ScriptedModel([FunctionCall(name="now", args={}), "done"]), tools=[now])
    with pytest.raises(PluginHookError, match=rf"plugin 'guard' .*, in {hook}, raised (SystemExit|Odd)"):
        run(agent, "hi", plugins=[plugin])


def now() -> str:
    """The time."""
    return "noon"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", ENDINGS, ids=repr)
@pytest.mark.parametrize("waits", [False, True])
def test_a_step_that_exits_is_an_error_that_names_its_plugin(kind: str, error: Any, waits: bool) -> None:
    async def step(*args: object) -> Any:
        return await ending(error, waits=True)(*args)

    function = step if waits or kind == "result_processors" else ending(error, waits=False)
    descriptor = KINDS[kind](lambda *args: function(*args)) if not waits else KINDS[kind](step)
    plugin = type("Plugin", (), {"name": "guard", f"register_{kind}": hookimpl(lambda self: [descriptor])})()
    agent = Agent(name="a", model=ScriptedModel([FunctionCall(name="now", args={}), "done"]), tools=[now])
    with pytest.raises(NewelError, match=r"of the plugin 'guard' .* raised (SystemExit|Odd)"):
        run(agent, "hi", plugins=[plugin])


def test_the_wish_of_a_person_is_no_fault_of_a_plugin() -> None:
    def interrupted(*args: object) -> None:
        signal.raise_signal(signal.SIGINT)

    for hooked in (named(interrupted, "it"), step(interrupted, "it")):
        with pytest.raises(KeyboardInterrupt):
            hooked()


def test_the_end_of_a_closed_run_is_no_fault_of_a_plugin() -> None:
    async def waits(*args: object) -> None:
        await asyncio.Future()

    async def close() -> None:
        waiting = step(waits, "it")()
        waiting.send(None)
        with pytest.raises(GeneratorExit):
            waiting.throw(GeneratorExit)

    asyncio.run(close())


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
def test_what_a_plugin_raises_itself_is_its_own(error: Any) -> None:
    for hooked in (named(ending(error, waits=False), "it"), step(ending(error, waits=False), "it")):
        with pytest.raises(PluginError, match=f"it raised {error.__name__}"):
            hooked()
