"""Delegation: an agent and the sub-agents that work for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from newel import Agent, App, Event, Runner
from newel.agents import SequentialAgent
from newel.apps import ResumabilityConfig
from newel.models import BaseLlm
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.testing import ScriptedModel
from newel.tools import LongRunningFunctionTool
from newel.types import Content, FunctionCall, FunctionResponse, Part
from newel_kernel import ConfigurationError, DuplicateToolError


class Ask(BaseModel):
    topic: str
    depth: int = 1


class Report(BaseModel):
    summary: str
    score: int


def call(name: str, /, **args: Any) -> FunctionCall:
    return FunctionCall(name=name, args=args)


def done(result: Any = "r") -> FunctionCall:
    return call("finish_task", result=result)


def agent(name: str, *script: Any, **fields: Any) -> Agent:
    fields.setdefault("description", f"does {name}")
    return Agent(name=name, model=ScriptedModel(list(script)), **fields)


def task(name: str, *script: Any, **fields: Any) -> Agent:
    return agent(name, *script, mode="task", **fields)


def told(event: Event) -> str:
    """An event in short: its author, and each part."""
    parts = []
    for part in (event.content.parts or ()) if event.content is not None else ():
        if part.function_call is not None:
            parts.append(f"{part.function_call.name}()")
        elif part.function_response is not None:
            parts.append(f"{part.function_response.name}={part.function_response.response}")
        else:
            parts.append(part.text or "")
    return f"{event.author}: {event.error_code or ' + '.join(parts)}"


def seen(of: Agent) -> list[list[str]]:
    """The texts of each request to an agent's model."""
    model: Any = of.model
    return [
        [
            p.text or (f"{p.function_call.name}()" if p.function_call else f"={p.function_response.response}")
            for c in request.contents
            for p in c.parts
        ]
        for request in model.requests
    ]


class Talk:
    """A conversation; each message gets a runner of its own, as after a restart."""

    def __init__(
        self,
        root: Any,
        *,
        distribution: str = "adk",
        sessions: Callable[[], Any] | None = None,
        resumable: bool = False,
    ) -> None:
        self.root, self.distribution = root, distribution
        memory = InMemorySessionService()
        self.sessions = sessions or (lambda: memory)
        self.resumable = resumable

    async def say(self, message: Any) -> list[str]:
        """The events in answer to a message, in short."""
        config = ResumabilityConfig(is_resumable=True) if self.resumable else None
        app = App(name="app", root_agent=self.root, resumability_config=config)
        runner = Runner(
            app=app, session_service=self.sessions(), auto_create_session=True, distribution=self.distribution
        )
        async with runner:
            events = runner.run_async(user_id="u", session_id="s", new_message=message)
            got = [told(event) async for event in events if event.content is not None or event.error_code]
            if (close := getattr(runner.session_service, "close", None)) is not None:
                await close()
        return got

    async def stored(self) -> list[Event]:
        session = await self.sessions().get_session(app_name="app", user_id="u", session_id="s")
        return list(session.events)


def says(root: Any, *messages: Any, **options: Any) -> list[list[str]]:
    """What is answered to each of the messages."""

    async def main() -> list[list[str]]:
        talk = Talk(root, **options)
        return [await talk.say(message) for message in messages]

    return asyncio.run(main())


BOTH = pytest.mark.parametrize("distribution", ["adk", "standard"])


@BOTH
def test_a_task_over_several_turns(distribution: str) -> None:
    worker = task("worker", "which one?", "sure?", done())
    root = agent("root", call("worker", request="do"), "all done", "and then", sub_agents=[worker])
    assert says(root, "go", "blue", "yes", "more", distribution=distribution) == [
        ["root: worker()", "worker: which one?"],
        ["worker: sure?"],
        [
            "worker: finish_task()",
            "worker: finish_task={'result': 'The task is finished.'}",
            "user: worker={'result': 'r'}",
            "root: all done",
        ],
        ["root: and then"],
    ]
    assert seen(worker)[-1] == ['{"request": "do"}', "which one?", "blue", "sure?", "yes"]
    assert seen(root) == [
        ["go"],
        ["go", "worker()", "={'result': 'r'}"],
        ["go", "worker()", "={'result': 'r'}", "all done", "more"],
    ]


@pytest.mark.parametrize("resumable", [False, True])
def test_a_task_goes_on_after_a_restart(tmp_path: Path, resumable: bool) -> None:
    worker = task("worker", "which one?", call("finish_task", a=1), output_schema=dict[str, int])
    root = agent("root", call("worker", request="do"), "all done", sub_agents=[worker])

    async def main() -> None:
        talk = Talk(root, sessions=lambda: SqliteSessionService(str(tmp_path / "s.db")), resumable=resumable)
        assert (await talk.say("go"))[-1] == "worker: which one?"
        assert (await talk.say("blue"))[-2:] == ["user: worker={'a': 1}", "root: all done"]
        events = await talk.stored()
        scopes = {event.isolation_scope for event in events}
        assert scopes == {None, events[1].get_function_calls()[0].id}
        assert [e.output for e in events if e.output is not None] == [{"a": 1}]
        assert next(e for e in events if e.author == "user" and e.content.parts[0].text == "blue").isolation_scope

    asyncio.run(main())


def test_tasks_called_together_take_turns() -> None:
    worker, other = task("worker", "q1?", done("w1"), done("w2")), task("other", "q2?", done("o"))
    calls = [call("worker", request="a"), call("other", request="b"), call("worker", request="c")]
    root = agent("root", calls, "all done", sub_agents=[worker, other])
    for distribution in ("adk", "standard"):
        for one in (root, worker, other):
            one.model._played = 0
        first, second, third = says(root, "go", "a1", "a2", distribution=distribution)
        assert first == ["root: worker() + other() + worker()", "worker: q1?"]
        assert second[-2:] == ["user: worker={'result': 'w1'}", "other: q2?"]
        assert third[2] == "user: other={'result': 'o'}"
        assert third[-2:] == ["user: worker={'result': 'w2'}", "root: all done"]
        assert seen(root)[-1] == [
            "go",
            "worker()",
            "other()",
            "worker()",
            "={'result': 'w1'}",
            "={'result': 'o'}",
            "={'result': 'w2'}",
        ]


@BOTH
def test_a_tool_beside_a_task_has_its_result(distribution: str) -> None:
    worker = task("worker", "q?", done())

    def look(q: str) -> str:
        return f"seen {q}"

    calls = [call("look", q="x"), call("worker", request="a")]
    root = agent("root", calls, "all done", tools=[look], sub_agents=[worker])
    first, second = says(root, "go", "on", distribution=distribution)
    assert first == ["root: look() + worker()", "worker: q?", "root: look={'result': 'seen x'}"]
    assert second[-1] == "root: all done"
    assert sorted(seen(root)[-1][3:]) == ["={'result': 'r'}", "={'result': 'seen x'}"]


@BOTH
def test_tasks_within_tasks(distribution: str) -> None:
    inner = task("inner", "deep?", done("in"))
    worker = task("worker", call("inner", request="deep"), done("w"), sub_agents=[inner])
    root = agent("root", call("worker", request="a"), "all done", sub_agents=[worker])
    first, second = says(root, "go", "yes", distribution=distribution)
    assert first == ["root: worker()", "worker: inner()", "inner: deep?"]
    assert [line for line in second if "finish" not in line] == [
        "user: inner={'result': 'in'}",
        "user: worker={'result': 'w'}",
        "root: all done",
    ]
    assert seen(inner)[-1] == ['{"request": "deep"}', "deep?", "yes"]
    assert seen(worker)[-1] == ['{"request": "a"}', "inner()", "={'result': 'in'}"]


@BOTH
def test_agents_that_answer_once_side_by_side_do_not_see_each_other(distribution: str) -> None:
    def look(q: str) -> str:
        return f"seen {q}"

    def answer(request: Any) -> Any:
        texts = [p for c in request.contents for p in c.parts]
        prompt = texts[0].text
        return call("look", q=prompt) if len(texts) == 1 else f"{prompt}: {len(texts)}"

    echo = agent("echo", *[answer] * 4, mode="single_turn", tools=[look])
    root = agent("root", [call("echo", request="a"), call("echo", request="b")], "all done", sub_agents=[echo])
    (events,) = says(root, "go", distribution=distribution)
    assert events[-2:] == ["root: echo={'result': 'a: 3'} + echo={'result': 'b: 3'}", "root: all done"]


@BOTH
def test_agents_that_answer_once_may_delegate_side_by_side(distribution: str) -> None:
    def answer(request: Any) -> Any:
        texts = [p for c in request.contents for p in c.parts]
        prompt = texts[0].text
        return call("inner", request=prompt) if len(texts) == 1 else f"{prompt}: {len(texts)}"

    async def second_starts_later(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        while args["request"] == "b" and not inner.model.requests:
            await asyncio.sleep(0)

    inner = agent("inner", 0.05, "x", "y", mode="single_turn")
    echo = agent("echo", *[answer] * 4, mode="single_turn", sub_agents=[inner])
    calls = [call("echo", request="a"), call("echo", request="b")]
    root = agent("root", calls, "all done", sub_agents=[echo], before_tool_callback=second_starts_later)
    (events,) = says(root, "go", distribution=distribution)
    assert events[-2:] == ["root: echo={'result': 'a: 3'} + echo={'result': 'b: 3'}", "root: all done"]
    assert seen(inner) == [["a"], ["b"]]


def test_schemas_of_an_agent_that_answers_once() -> None:
    echo = agent("echo", '{"summary": "s", "score": 3}', mode="single_turn", input_schema=Ask, output_schema=Report)
    root = agent("root", call("echo", depth="deep"), call("echo", topic="t"), "all done", sub_agents=[echo])
    (events,) = says(root, "go")
    assert "the arguments do not fit" in events[1]
    assert "2 validation errors for Ask" in events[1]
    assert events[-2] == "root: echo={'summary': 's', 'score': 3}"
    assert seen(echo) == [['{"topic": "t", "depth": 1}']]
    declared = root.model.requests[0].config.tools[0].function_declarations[0]
    assert declared.parameters_json_schema["properties"].keys() == {"topic", "depth"}
    assert declared.description == "does echo"


@pytest.mark.parametrize("mode", ["task", "single_turn"])
@pytest.mark.parametrize(
    ("args", "problem"),
    [({"request": "x", "more": 1}, "unknown: more"), ({}, "`request` must be a string"), ({"request": 1}, "`request`")],
)
def test_arguments_that_do_not_fit_are_an_error_for_the_parent(mode: Any, args: dict[str, Any], problem: str) -> None:
    root = agent("root", call("worker", **args), "sorry", sub_agents=[agent("worker", mode=mode)])
    (events,) = says(root, "go")
    assert problem in events[1]
    assert events[1].startswith("root: worker={'error'")
    assert events[2] == "root: sorry"


def test_a_task_takes_the_arguments_that_the_specification_prints() -> None:
    worker = task("worker", done())
    root = agent("root", call("worker", goal="find x"), "all done", sub_agents=[worker])
    says(root, "go")
    assert seen(worker) == [['{"goal": "find x"}']]


def test_a_failing_task_ends_the_run_or_is_an_error_result() -> None:
    def fail() -> str:
        raise ValueError("boom")

    def tree(*script: Any) -> Agent:
        worker = task("worker", RuntimeError("no model"), done())
        return agent("root", call("worker", request="a"), *script, sub_agents=[worker])

    with pytest.raises(RuntimeError, match="no model"):
        says(tree(), "go")
    assert says(tree("sorry"), "go", distribution="standard") == [
        ["root: worker()", "root: RuntimeError", "root: worker={'error': 'RuntimeError: no model'}", "root: sorry"]
    ]


def test_a_task_that_failed_goes_on_with_the_next_message() -> None:
    worker = task("worker", RuntimeError("no model"), done())
    root = agent("root", call("worker", request="a"), "all done", sub_agents=[worker])

    async def main() -> None:
        talk = Talk(root)
        with pytest.raises(RuntimeError):
            await talk.say("go")
        assert (await talk.say("try again"))[-1] == "root: all done"

    asyncio.run(main())
    assert seen(worker)[-1] == ['{"request": "a"}', "try again"]


def test_an_agent_that_answers_once_and_fails() -> None:
    for distribution, result in (
        ("adk", "{'result': None}"),
        ("standard", "{'error': \"The agent 'echo' failed: RuntimeError: no model\"}"),
    ):
        echo = agent("echo", RuntimeError("no model"), mode="single_turn")
        root = agent("root", call("echo", request="a"), "sorry", sub_agents=[echo])
        assert says(root, "go", distribution=distribution) == [
            ["root: echo()", "echo: RuntimeError", f"root: echo={result}", "root: sorry"]
        ]


@pytest.mark.parametrize("mode", ["task", "single_turn"])
@pytest.mark.parametrize("resumable", [False, True])
def test_what_waits_for_the_outside_pauses_the_invocation(mode: Any, resumable: bool, tmp_path: Path) -> None:
    def approve() -> None:
        """Ask somebody."""

    last = done("ok") if mode == "task" else "ok"
    worker = agent("worker", call("approve"), last, mode=mode, tools=[LongRunningFunctionTool(approve)])
    root = agent("root", call("worker", request="a"), "all done", sub_agents=[worker])

    async def main() -> None:
        talk = Talk(root, sessions=lambda: SqliteSessionService(str(tmp_path / "s.db")), resumable=resumable)
        assert await talk.say("go") == ["root: worker()", "worker: approve()"]
        question = next(event for event in await talk.stored() if event.long_running_tool_ids)
        (waiting,) = question.long_running_tool_ids
        answer = FunctionResponse(id=waiting, name="approve", response={"status": "yes"})
        after = await talk.say(Content(role="user", parts=[Part(function_response=answer)]))
        assert after[-2:] == [f"{'user' if mode == 'task' else 'root'}: worker={{'result': 'ok'}}", "root: all done"]
        events = await talk.stored()
        assert (events[-1].invocation_id == question.invocation_id) is (resumable or mode == "task")

    asyncio.run(main())
    assert seen(worker)[-1][1:] == ["approve()", "={'status': 'yes'}"]


@pytest.mark.parametrize("mode", ["task", "single_turn"])
def test_a_transfer_to_the_parent_gives_the_work_back(mode: Any) -> None:
    worker = agent("worker", call("transfer_to_agent", agent_name="root"), mode=mode)
    root = agent("root", call("worker", request="a"), "I do it myself", "more", sub_agents=[worker])
    first, second = says(root, "go", "next")
    assert "gave this back" in first[-2]
    assert (first[-1], second) == ("root: I do it myself", ["root: more"])


def test_delegates_are_no_targets_of_transfers() -> None:
    chats = agent("chats", "hi")
    root = agent(
        "root",
        call("transfer_to_agent", agent_name="chats"),
        sub_agents=[chats, task("worker"), agent("echo", mode="single_turn")],
    )
    says(root, "go")
    for one in (root, chats):
        assert "worker" not in one.model.requests[0].config.system_instruction
        assert "echo" not in one.model.requests[0].config.system_instruction
    assert set(root.model.requests[0].tools_dict) == {"transfer_to_agent", "worker", "echo"}


def test_a_sub_agent_that_chats_may_delegate() -> None:
    worker = task("worker", "q?", done())
    chats = agent("chats", call("worker", request="a"), "chats done", sub_agents=[worker])
    chats.disallow_transfer_to_parent = True
    root = agent("root", call("transfer_to_agent", agent_name="chats"), sub_agents=[chats])
    first, second = says(root, "go", "yes")
    assert first[-1] == "worker: q?"
    assert second[-1] == "chats: chats done"


def test_the_answer_reaches_a_task_beside_other_agents() -> None:
    worker = task("worker", "q?", done())
    asks = agent("asks", call("worker", request="a"), "asks done", sub_agents=[worker])
    root = SequentialAgent(name="both", sub_agents=[asks, agent("after", "something else")])
    first, second = says(root, "go", "yes")
    assert first[-2:] == ["worker: q?", "after: something else"]
    assert second[-1] == "asks: asks done"


def test_a_callback_may_refuse_a_task() -> None:
    def refuse(tool: Any, args: Any, tool_context: Any) -> dict[str, str] | None:
        return {"error": "not today"} if tool.name == "worker" else None

    root = agent("root", call("worker", request="a"), "sorry", sub_agents=[task("worker")], before_tool_callback=refuse)
    assert says(root, "go") == [["root: worker()", "root: worker={'error': 'not today'}", "root: sorry"]]


def test_callbacks_stand_around_each_part_of_the_work() -> None:
    log: list[str] = []

    def before(callback_context: Any) -> None:
        log.append(f"before {callback_context.agent_name}")

    def after(callback_context: Any) -> None:
        log.append(f"after {callback_context.agent_name}")

    around: dict[str, Any] = {"before_agent_callback": before, "after_agent_callback": after}
    worker = task("worker", done(), **around)
    says(agent("root", call("worker", request="a"), "all done", sub_agents=[worker], **around), "go")
    assert log == ["before root", "before worker", "after worker", "after root"]


@BOTH
def test_a_cancelled_task_goes_on_with_the_next_message(distribution: str) -> None:
    worker = task("worker", {"hang": True, "chunks": ["…"]}, done())
    root = agent("root", call("worker", request="a"), "all done", sub_agents=[worker])

    async def main() -> None:
        talk = Talk(root, distribution=distribution)
        running = asyncio.ensure_future(talk.say("go"))
        while not (worker.model.requests or running.done()):
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await talk.say("on"))[-1] == "root: all done"

    asyncio.run(main())


class Aborting(BaseLlm):
    """Makes an error of its cancellation."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncGenerator[Any, None]:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ConnectionError("stream aborted") from None
        yield


@BOTH
@pytest.mark.parametrize("mode", ["task", "single_turn"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_cancelled_run_ends_whatever_a_sub_agent_makes_of_it(distribution: str, mode: Any, count: int) -> None:
    worker = Agent(name="worker", description="does work", mode=mode, model=Aborting(model="m"))
    root = agent("root", [call("worker", request="a")] * count, "all done", sub_agents=[worker])

    async def main() -> None:
        talk = Talk(root, distribution=distribution)
        running = asyncio.create_task(talk.say("go"))
        for _ in range(200):  # rounds of the loop, in which every worker has begun, however slow the machine
            await asyncio.sleep(0)
        running.cancel()
        done, _ = await asyncio.wait([running], timeout=60)
        assert done, "the run hangs"
        assert running.cancelled()
        assert not [event for event in await talk.stored() if event.error_code == "ConnectionError"]

    asyncio.run(main())


def test_state_of_a_task_is_the_session_s() -> None:
    def look(tool_context: Any) -> str:
        tool_context.state["looked"] = True
        return "seen"

    worker = task("worker", call("look"), done(), tools=[look])
    root = agent("root", call("worker", request="a"), "all done", sub_agents=[worker], instruction="{looked?}")
    says(root, "go")
    assert root.model.requests[-1].config.system_instruction.startswith("True")


@pytest.mark.parametrize("mode", ["task", "single_turn"])
def test_a_root_chats(mode: Any) -> None:
    async def main() -> None:
        talk = Talk(agent("alone", mode=mode))
        with pytest.raises(ConfigurationError, match="'alone'"):
            await talk.say("go")
        assert await talk.stored() == []

    asyncio.run(main())


def test_a_clone_has_tools_of_its_own() -> None:
    root = agent("root", sub_agents=[task("worker")])
    copy = root.clone()
    assert [tool.name for tool in copy.tools] == ["worker"]
    assert copy.tools[0].agent is copy.sub_agents[0]
    assert [tool.name for tool in copy.sub_agents[0].tools] == ["finish_task"]
    assert root.clone({"sub_agents": []}).tools == []


def test_a_tool_of_the_delegate_s_name_is_refused() -> None:
    def worker() -> str:
        return ""

    with pytest.raises(DuplicateToolError, match=r"RequestTaskTool of agent 'worker'"):
        says(agent("root", "hi", tools=[worker], sub_agents=[task("worker")]), "go")


def test_the_tool_is_of_no_use_to_others() -> None:
    worker = task("worker")
    tool = agent("root", sub_agents=[worker]).tools[0]
    other = agent("other", call("worker", request="a"))
    other.tools = [tool]
    with pytest.raises(ConfigurationError, match="sub_agents"):
        says(other, "go")
