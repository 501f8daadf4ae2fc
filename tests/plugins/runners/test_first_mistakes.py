"""What goes wrong in a first week: each mistake is one line that names what is wrong, where, and what to do."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from newel import Agent, App, InMemoryRunner, Runner, Workflow, run, tool
from newel.agents import LoopAgent, RunConfig, SequentialAgent
from newel.artifacts import InMemoryArtifactService
from newel.sessions import InMemorySessionService
from newel.sessions.kinds import SessionBackend
from newel.testing import Conversation, ScriptedModel
from newel.tools import AgentTool, FunctionTool
from newel.workflow import Edge, JoinNode, RetryConfig, node
from newel_compose import compose

#: What type checkers refuse is tried here.
Any_: Any = Agent
WHO: Any = {"user_id": "ann", "session_id": "s1"}


def helper(**fields: Any) -> Agent:
    return Agent(**{"name": "helper", "model": ScriptedModel(["hello"]), **fields})


def plain(city: str) -> str:
    """Tell."""
    return city


async def closed() -> None:
    runner = InMemoryRunner(helper())
    await runner.close()
    runner.run_async(**WHO, new_message="hello")


async def in_a_notebook(call: Callable[[], object]) -> None:
    call()


#: The mistake -> what its message says.
MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "a model as the first argument": (lambda: Any_("demo:"), r"LlmAgent takes its fields by name.*'demo:'"),
    "no name": (lambda: Any_(model="demo:"), "name"),
    "a name with a space": (lambda: helper(name="my agent"), "invalid agent name 'my agent': use letters"),
    "a name that users have": (lambda: helper(name="user"), "cannot be named 'user'"),
    "a misspelt field": (lambda: helper(instructions="Help."), "instruction"),
    "an instruction that is a number": (lambda: helper(instruction=3), "neither a text nor a function"),
    "an instruction without a parameter": (lambda: helper(instruction=lambda: "x"), "must take one argument"),
    "a class as a tool": (lambda: helper(tools=[AgentTool]), r"give an instance, AgentTool\(\.\.\.\)"),
    "a text as a tool": (lambda: run(helper(tools=["search"]), "hello"), "'search' is not a tool"),
    "a method without its object": (lambda: run(helper(tools=[Folder.read]), "hello"), "first parameter is 'self'"),
    "a text as a schema": (lambda: helper(output_schema="Weather"), "cannot be made from JSON"),
    "a function as a schema": (lambda: helper(output_schema=plain), "cannot be made from JSON"),
    "an object as deps_type": (lambda: helper(deps_type=3), "deps_type takes a class"),
    "deps that are missing": (lambda: run(helper(deps_type=Folder), "hello"), "agent 'helper' needs deps of the type"),
    "a callback that is a number": (
        lambda: helper(before_model_callback=3),
        "must be a callable",
    ),
    "a callback of three": (
        lambda: helper(before_agent_callback=lambda a, b, c: None),
        "must take",
    ),
    "a mode that there is not": (lambda: helper(mode="tasks"), "mode"),
    "two children of a name": (lambda: SequentialAgent(name="a", sub_agents=[helper(), helper()]), "helper"),
    "a child of itself": (lambda: InMemoryRunner(helper(name="a", sub_agents=[helper(name="a")])), "'a'"),
    "a text as a child": (lambda: Any_(name="a", sub_agents=["b"]), "sub_agents"),
    "settings of a request": (lambda: helper(generate_content_config={"tools": [{}]}), "use LlmAgent.tools"),
    "rounds that are a text": (lambda: LoopAgent(name="a", max_iterations="many"), "max_iterations"),
    "no message": (lambda: run(helper(), None), "message"),
    "a number as a message": (lambda: run(helper(), 3), r"the message is 3 \(int\); give a text"),
    "a dict as a message": (
        lambda: run(helper(), {"text": "hello"}),
        r"no parts.*\"parts\": \[",
    ),
    "an empty message": (lambda: run(helper(), []), "no parts"),
    "run in a notebook": (lambda: asyncio.run(in_a_notebook(lambda: run(helper(), "hello"))), r"await newel\.arun"),
    "say in a notebook": (
        lambda: asyncio.run(in_a_notebook(lambda: Conversation(helper()).say("hello"))),
        r"await conversation\.send",
    ),
    "a closed runner": (lambda: asyncio.run(closed()), "this runner is closed"),
    "a class as a runner's agent": (lambda: InMemoryRunner(Any_), r"LlmAgent\(\.\.\.\)"),
    "a text as a runner's agent": (lambda: InMemoryRunner("helper"), "which is not an agent"),  # type: ignore[arg-type]
    "a text as a store": (
        lambda: Runner(agent=helper(), session_service="sqlite:"),  # type: ignore[arg-type]
        "a URI belongs in newel.yaml",
    ),
    "one plugin and no list": (lambda: Runner(agent=helper(), plugins="redact"), "give a list of plugins"),
    "a name as a configuration": (
        lambda: InMemoryRunner(helper()).run_async(**WHO, new_message="x", run_config="sse"),  # type: ignore[arg-type]
        "run_config must be a RunConfig",
    ),
    "a misspelt configuration": (lambda: RunConfig(streaming="sse"), "streaming"),  # type: ignore[call-arg]
    "a distribution that there is not": (
        lambda: run(helper(), "hello", distribution="standrad"),
        "'standard'",
    ),
    "an option of a tool": (lambda: tool(confirm=True)(plain), "@tool has no option 'confirm'"),  # type: ignore[call-overload]
    "a tool of a text": (lambda: FunctionTool("plain"), "FunctionTool needs a callable"),  # type: ignore[arg-type]
    "an app with a space": (lambda: App(name="my app", root_agent=helper()), "invalid app name"),
    "an app without an agent": (lambda: App(name="app"), "root_agent"),
    "an edge of a number": (lambda: Workflow(name="flow", edges=[("START", 3)]), r"3 \(int\) cannot be a node"),  # type: ignore[list-item]
    "edges without START": (lambda: Workflow(name="flow", edges=[(plain, plain)]), "START"),
    "a route of a float": (lambda: Edge(from_node=plain, to_node=plain, route=1.5), "a route is a bool"),  # type: ignore[arg-type]
    "a join with a space": (lambda: JoinNode(name="my join"), "must be a Python identifier"),
    "a misspelt exception": (lambda: RetryConfig(exceptions=["ConectionError"]), "did you mean 'ConnectionError'"),
    "retries of an object": (lambda: RetryConfig(exceptions=[ValueError()]), "exception classes and their names"),  # type: ignore[list-item]
    "a node of a dict": (lambda: node({"a": 1}), "cannot be a node"),  # type: ignore[call-overload]
    "no time at all": (lambda: node(plain, timeout=0), "timeout"),
}


class Folder:
    def read(self, name: str) -> str:
        """Read."""
        return name


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_remedy(mistake: str) -> None:
    call, said = MISTAKES[mistake]
    with pytest.raises(Exception, match=re.compile(said, re.DOTALL)) as told:
        call()
    assert "object at 0x" not in str(told.value)


def test_there_are_at_least_forty() -> None:
    assert len(MISTAKES) >= 40


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("gpt5-mini", "did you mean 'gpt-5-mini'?"),
        ("gpt4o", "did you mean 'gpt-4o'?"),
        ("OpenAI:gpt-5", "did you mean 'openai:gpt-5'?"),
        ("claude3-opus", "did you mean 'claude-3-opus'?"),
        ("Gemini2.5-flash", "did you mean 'gemini-2.5-flash'?"),
        ("sonnet", "unknown model 'sonnet' (providers:"),
    ],
)
def test_a_model_in_another_spelling_gets_a_hint(address: str, said: str) -> None:
    with pytest.raises(Exception, match=re.escape(said)):
        run(Agent(name="helper", model=address), "hello")


@pytest.mark.parametrize(
    ("variable", "model", "key"),
    [
        ("OPENAI_BASE_URL", "openai:some-model", "OPENAI_API_KEY"),
        ("ANTHROPIC_BASE_URL", "anthropic:some-model", "ANTHROPIC_API_KEY"),
        ("GOOGLE_GEMINI_BASE_URL", "gemini:some-model", "GOOGLE_API_KEY"),
    ],
)
@pytest.mark.parametrize("url", ["localhost:9", "//host/v1", "http://", "http://[", "ftp://user:pw-4711@host/v1"])
def test_a_base_url_that_is_none_is_told_without_its_password(
    variable: str, model: str, key: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, url)
    monkeypatch.setenv(key, "key")
    with pytest.raises(Exception, match=rf"{variable} is .*write it with its scheme") as told:
        run(Agent(name="helper", model=model), "hello")
    assert "4711" not in str(told.value)


@pytest.mark.parametrize("uri", ["postgresql://u:pw-4711@h/db", "redis://h"])
def test_a_store_whose_package_is_missing_is_told_with_the_package(uri: str) -> None:
    composition = compose("minimal")
    with pytest.raises(Exception, match=r"needs the package newel-(postgres|redis): pip install newel-") as told:
        composition.open_service(SessionBackend, uri)
    assert "4711" not in str(told.value)


def test_stores_that_are_given_stay_open_for_another_runner() -> None:
    async def main() -> None:
        store, files = InMemorySessionService(), InMemoryArtifactService()
        for _ in range(2):
            runner = Runner(
                agent=helper(), app_name="a", session_service=store, artifact_service=files, auto_create_session=True
            )
            assert await runner.run_typed(**WHO, new_message="hello") == "hello"
            await runner.close()

    asyncio.run(main())
