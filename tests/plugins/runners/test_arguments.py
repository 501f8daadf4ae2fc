"""Arguments of the wrong type: each is one error that says what to give instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from newel import Agent, App
from newel import run as typed_run
from newel.agents import RunConfig
from newel.evaluation import evaluate as typed_evaluate
from newel.plugins import BasePlugin
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import AgentTool
from newel_compose import compose
from newel_kernel import BaseTool, NewelError, Prologue, hookimpl

run: Any = typed_run  # what a type checker refuses is what is tried here
tool_of: Any = AgentTool
evaluate: Any = typed_evaluate


def agent(**fields: Any) -> Any:
    return Agent(**{"name": "a", "model": ScriptedModel(["hi"]), **fields})


def runner(**options: Any) -> Any:
    store = InMemorySessionService()
    return Runner(
        **{"agent": agent(), "app_name": "x", "session_service": store, "auto_create_session": True, **options}
    )


def events(**arguments: Any) -> Any:
    async def ask() -> list[Any]:
        given = {"user_id": "u", "session_id": "s", "new_message": "hi", **arguments}
        return [event async for event in runner().run_async(**given)]

    return asyncio.run(ask())


def judged(sets: Any, config: Any = None, **options: Any) -> Any:
    return asyncio.run(evaluate(agent(), sets, config, **options))


class Numbered:
    """A plugin whose step has no name."""

    name = "numbered"

    @hookimpl
    def register_prologues(self) -> list[Prologue]:
        return [Prologue(name=5, run=lambda ctx: None)]  # type: ignore[arg-type]


def no_arguments() -> str:
    return "be kind"


LINE = no_arguments.__code__.co_firstlineno
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "a name as the agent": (
        lambda: run("a", "hi"),
        "the agent of a runner is 'a' (str), which is not an agent; give an agent, such as",
    ),
    "a class as the agent": (lambda: run(Agent, "hi"), "which is not an agent; give an object of it: LlmAgent(...)"),
    "an app as the agent": (lambda: run(App(name="x", root_agent=agent()), "hi"), "give an app as Runner(app=...)"),
    "a number as the agent": (lambda: runner(agent=5), "the agent of a runner is 5 (int)"),
    "a number as the message": (lambda: run(agent(), 5), "the message is 5 (int); give a text, a Content, a Part or"),
    "bytes as the message": (lambda: run(agent(), b"hi"), "the message is b'hi' (bytes); give a text"),
    "a URI as the store": (
        lambda: runner(session_service="sqlite:"),
        "session_service is 'sqlite:' (str); give an object; a URI belongs in newel.yaml, under services: session",
    ),
    "a class as the store": (
        lambda: runner(session_service=InMemorySessionService),
        "give an object of it: InMemorySessionService(...)",
    ),
    "a number as the artifacts": (lambda: runner(artifact_service=5), "artifact_service is 5 (int); give an object"),
    "a text as the plugins": (lambda: runner(plugins="x"), "plugins is 'x' (str); give a list of plugins: plugins="),
    "one plugin": (lambda: runner(plugins=BasePlugin(name="p")), "(BasePlugin); give a list of plugins: plugins=[...]"),
    "a text as a plugin": (lambda: runner(plugins=["x"]), "the plugin 'str-0' is 'x', which has no hooks; give a"),
    "a text as a set": (lambda: judged("x.evalset.json"), "evaluate got 'x' as an eval set; give an EvalSet, such as"),
    "a mapping as a set": (lambda: judged([{}]), "evaluate got {} as an eval set; give an EvalSet"),
    "a mapping as the evaluation's config": (
        lambda: judged([], {"criteria": {}}),
        "evaluate got {'criteria': {}} as the config; give an EvalConfig(",
    ),
    "an option of runs": (
        lambda: judged([], repeat=3),
        "evaluate has no option 'repeat'; did you mean 'repeats'? (the options of a run go in options=RunOptions",
    ),
    "an option that is misspelt": (lambda: judged([], run_fil="x"), "no option 'run_fil'; did you mean 'run_file'?"),
    "a name as the agent to judge": (
        lambda: asyncio.run(evaluate("a", [])),
        "evaluate got 'a' as the agent; give an agent, or app=",
    ),
    "a number as a step's name": (
        lambda: compose("minimal", plugins=[Numbered()]),
        "register_prologues returned a Prologue with name=5; a name must be a string",
    ),
    "nothing as a plugin": (lambda: runner(plugins=[None]), "is None, which has no hooks; give a BasePlugin, an"),
    "no user": (lambda: events(user_id=None), "user_id must be a string, not None"),
    "a number as the user": (lambda: events(user_id=5), "user_id must be a string, not 5 (int)"),
    "no session": (lambda: events(session_id=None), "session_id must be a string, not None"),
    "a number as the session": (lambda: events(session_id=5), "session_id must be a string, not 5 (int)"),
    "a mapping as the config": (
        lambda: events(run_config={"max_llm_calls": 1}),
        "run_config must be a RunConfig(...), not {'max_llm_calls': 1} (dict)",
    ),
    "the class as the config": (
        lambda: events(run_config=RunConfig),
        "run_config must be a RunConfig(...), not <class",
    ),
    "a name as a tool's agent": (lambda: tool_of("a"), "AgentTool needs an agent, not 'a'; give the agent itself"),
    "a number as the instruction": (
        lambda: agent(instruction=5),
        "5 is neither a text nor a function that returns one",
    ),
    "an instruction without a context": (
        lambda: agent(instruction=no_arguments),
        f"no_arguments (test_arguments.py:{LINE}) must take one argument, the context, but takes () -> ",
    ),
    "the same for the tree": (
        lambda: agent(global_instruction=no_arguments),
        "must take one argument, the context, but takes () -> ",
    ),
}


@pytest.mark.parametrize(("call", "says"), WRONG.values(), ids=WRONG)
def test_it_is_one_error_with_the_remedy(call: Callable[[], Any], says: str) -> None:
    with pytest.raises((NewelError, ValueError)) as refused:
        call()
    assert says in str(refused.value)


def test_a_claim_on_the_session_ends_with_a_wrong_config() -> None:
    house = runner()

    async def ask(**more: Any) -> int:
        return len([one async for one in house.run_async(user_id="u", session_id="s", new_message="hi", **more)])

    with pytest.raises(NewelError, match="run_config must be a RunConfig"):
        asyncio.run(ask(run_config={}))
    assert asyncio.run(ask()) == 1


class Ringing(BaseTool):
    """A tool whose class is listed in place of an instance."""


def test_a_class_of_tools_is_no_tool() -> None:
    with pytest.raises(ValueError, match=r"Ringing is a class of tools: give an instance, Ringing\(\.\.\.\)"):
        agent(tools=[Ringing])
    agent(tools=[dict])  # what a class makes may be a result


def test_an_agent_that_was_appended_below_itself_is_told() -> None:
    root = agent()
    root.sub_agents.append(root)
    with pytest.raises(NewelError, match="the agent 'a' is in two places of the tree 'a', or below itself"):
        runner(agent=root)
