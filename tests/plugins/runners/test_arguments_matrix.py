"""Each argument of each way to run is honoured or refused, for every kind of root.

A new argument must be classified here: the tables are held against the signatures.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from newel import Agent, Runner
from newel.agents import BaseAgent, LoopAgent, ParallelAgent, RunConfig, SequentialAgent
from newel.evaluation.agent_evaluator import AgentEvaluator
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.workflow import Workflow, node
from newel_kernel import ConfigurationError, Event, EventActions, NewelError, Session

WHERE: dict[str, Any] = {"user_id": "u", "session_id": "s"}
#: What the runs of this module are asked to do, and how a test sees that it was done.
HONOURED = {
    "user_id": "the session is that user's",
    "session_id": "the session has that id",
    "new_message": "the message is stored, and answered",
    "state_delta": "it is in the state",
    "run_config": "its metadata is on each stored event",
    "yield_user_message": "the message is yielded first",
    "invocation_id": "refused in an app that is not resumable; see test_state_delta for one that is",
}
_TYPED = "tests/plugins/runners/test_typed_runs.py"
#: Of the other ways: the test of another module, or of this one, that holds the argument to what it says.
ELSEWHERE = {
    "run_live": {"live_request_queue": "tests/plugins/live", "session": "tests/plugins/live", "deps": _TYPED},
    "run_debug": {"user_messages": "below", "quiet": "below", "verbose": "tests/plugins/cli/test_chat.py"},
    "rewind_async": {"rewind_before_invocation_id": "tests/plugins/runners/test_rewind.py"},
    "compact_async": {"keep": "tests/plugins/runners/test_compact.py"},
    "fork_session": {"new_session_id": "tests/plugins/sessions", "events": "tests/plugins/sessions"},
    "delete_session": {},
    "start": {"steers": "tests/plugins/runners/test_steering.py", "deps": _TYPED},
    "steer": {"deps": _TYPED},
    "run": {"deps": _TYPED},
    "run_async": {"abort_signal": "tests/plugins/runners/test_abort.py", "deps": _TYPED},
    "run_typed": {"deps": _TYPED},
    "stream_typed": {"deps": _TYPED},
    "questions": {},
    "answer": {"question": _TYPED, "answer": _TYPED, "deps": _TYPED},
}
#: Of evaluation's entry points, in `tests/plugins/evaluation`.
EVALUATION = {
    "evaluate": {
        "agent_module",
        "eval_dataset_file_path_or_dir",
        "num_runs",
        "agent_name",
        "initial_session_file",
        "print_detailed_results",
        "more",
    },
    "evaluate_eval_set": {
        "agent_module",
        "eval_set",
        "criteria",
        "eval_config",
        "num_runs",
        "agent_name",
        "print_detailed_results",
        "artifact_service",
        "output_file",
        "app_name",
        "eval_set_results_manager",
        "allow_effects",
    },
}


def arguments(function: Callable[..., Any]) -> set[str]:
    return {name for name in inspect.signature(function).parameters if name != "self"}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_every_argument_of_the_runner_is_classified(name: str) -> None:
    assert arguments(getattr(Runner, name)) <= HONOURED.keys() | ELSEWHERE[name].keys()
    assert ELSEWHERE[name].keys() <= arguments(getattr(Runner, name))


@pytest.mark.parametrize("name", EVALUATION)
def test_every_argument_of_evaluation_is_classified(name: str) -> None:
    assert arguments(getattr(AgentEvaluator, name)) == EVALUATION[name]


class Own(BaseAgent):
    async def _run_async_impl(self, ctx: Any) -> Any:
        yield Event(author=self.name, invocation_id=ctx.invocation_id, branch=ctx.branch, message="own")


def agent(name: str = "a") -> Agent:
    return Agent(name=name, model=ScriptedModel(["one", "two", "three", "four"]))


def calling() -> Agent:
    def act() -> str:
        """Act."""
        return "done"

    return Agent(name="a", model=ScriptedModel([{"call": "act"}, "one", "two"]), tools=[act])


def transferring() -> Agent:
    call = {"call": "transfer_to_agent", "args": {"agent_name": "a"}}
    return Agent(name="r", model=ScriptedModel([call]), sub_agents=[agent()])


ROOTS: dict[str, Callable[[], Any]] = {
    "agent": agent,
    "tools": calling,
    "transfer": transferring,
    "own": lambda: Own(name="own"),
    "sequence": lambda: SequentialAgent(name="s", sub_agents=[agent("a"), agent("b")]),
    "loop": lambda: LoopAgent(name="l", sub_agents=[agent("a")], max_iterations=2),
    "parallel": lambda: ParallelAgent(name="p", sub_agents=[agent("a"), agent("b")]),
    "graph": lambda: Workflow(name="w", edges=[("START", node(lambda: "x", name="x"), agent())]),
    "node": lambda: node(lambda node_input: f"got {node_input}", name="n"),
    "node of an agent": lambda: node(agent(), name="n"),
}
WAYS = ["run_async", "start", "run", "run_debug"]


async def go(runner: Runner, way: str, given: dict[str, Any]) -> list[Event]:
    if way == "run_async":
        return [event async for event in runner.run_async(**given)]
    if way == "start":
        run = runner.start(**given)
        return [event async for event in run.events()]
    if way == "run":
        return await asyncio.to_thread(lambda: list(runner.run(**given)))
    message = given.pop("new_message")
    return await runner.run_debug(message, quiet=True, **given)


def ran(kind: str, way: str, **given: Any) -> tuple[list[Event], Session]:
    async def main() -> tuple[list[Event], Session]:
        store = InMemorySessionService()
        options: dict[str, Any] = {"app_name": "app", "session_service": store, "auto_create_session": True}
        async with Runner(node=ROOTS[kind](), **options) as runner:
            events = await go(runner, way, {**WHERE, "new_message": "hello", **given})
        session = await store.get_session(app_name="app", **WHERE)
        assert session is not None
        return events, session

    return asyncio.run(main())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ROOTS)
def test_each_argument_is_honoured(kind: str, way: str) -> None:
    takes = arguments(getattr(Runner, way))
    config = RunConfig(custom_metadata={"tag": "t"})
    wanted = {"state_delta": {"k": [1], "user:n": 2}, "run_config": config, "yield_user_message": True}
    given = {name: value for name, value in wanted.items() if name in takes}
    events, session = ran(kind, way, **given)
    stored = session.events
    assert (session.user_id, session.id) == ("u", "s")
    assert stored[0].author == "user"
    assert stored[0].content is not None
    assert stored[0].content.parts[0].text == "hello"
    assert all((event.custom_metadata or {}).get("tag") == "t" for event in stored)
    assert any(event.author != "user" for event in events)
    if "state_delta" in given:
        assert {key: session.state[key] for key in ("k", "user:n")} == given["state_delta"]
    assert (events[0].author == "user") == ("yield_user_message" in given)


@pytest.mark.parametrize("way", ["run_async", "start"])
@pytest.mark.parametrize("kind", ROOTS)
@pytest.mark.parametrize("message", [None, "hello"], ids=["without a message", "with one"])
def test_an_invocation_is_resumed_only_in_a_resumable_app(kind: str, way: str, message: str | None) -> None:
    with pytest.raises(ConfigurationError, match="the app is not resumable"):
        ran(kind, way, new_message=message, invocation_id="i", state_delta={"k": 1})


@pytest.mark.parametrize("kind", ["agent", "tools", "sequence", "parallel", "graph", "node of an agent"])
def test_the_limit_of_model_calls_holds_for_every_kind(kind: str) -> None:
    limits = RunConfig(max_llm_calls=1)
    several = kind in ("tools", "sequence", "parallel")
    if not several:
        assert ran(kind, "run_async", run_config=limits)[0]
        return
    with pytest.raises(NewelError, match="limit of `1` exceeded"):
        ran(kind, "run_async", run_config=limits)


@pytest.mark.parametrize("way", WAYS)
def test_a_configuration_of_another_class_is_refused(way: str) -> None:
    with pytest.raises(ConfigurationError, match="run_config must be a RunConfig"):
        ran("agent", way, run_config={"max_llm_calls": 1})


def test_a_rewind_bears_the_metadata_of_its_configuration() -> None:
    async def main() -> list[Event]:
        store = InMemorySessionService()
        runner = Runner(agent=agent(), app_name="app", session_service=store, auto_create_session=True)
        events = [event async for event in runner.run_async(**WHERE, new_message="hello", state_delta={"k": 1})]
        await runner.rewind_async(
            **WHERE,
            rewind_before_invocation_id=events[0].invocation_id,
            run_config=RunConfig(custom_metadata={"tag": "t"}),
        )
        session = await store.get_session(app_name="app", **WHERE)
        assert session is not None
        assert session.state.get("k") is None
        return list(session.events)

    last = asyncio.run(main())[-1]
    assert isinstance(last.actions, EventActions)
    assert last.custom_metadata == {"tag": "t"}
