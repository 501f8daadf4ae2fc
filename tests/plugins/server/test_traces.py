"""Traces: of runs that were seen, and of those that only the store knows; each user sees their own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from tests.plugins.server.conftest import Serve

from newel import Agent, Runner
from newel.agents import LoopAgent, ParallelAgent, SequentialAgent
from newel.auth.secrecy import Secrets
from newel.contexts.stash_keys import SECRETS
from newel.models import BaseLlm
from newel.server import Options
from newel.server.stored_traces import StoredTraces
from newel.server.traces import FIRST_CHUNK, WINDOW
from newel.sessions import InMemorySessionService, SqliteSessionService
from newel.testing import ScriptedModel
from newel.types import Content, FunctionCall, Part
from newel_compose import compose
from newel_kernel import Context, Event, LlmRequest, LlmResponse, ModelError, hookimpl
from newel_types import HttpRetryOptions

DEVELOPMENT = Options(host="127.0.0.1", development=True)
EVENT = "gcp.vertex.agent.event_id"


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def call(name: str, **args: Any) -> Part:
    return Part(function_call=FunctionCall(name=name, args=args))


def words(name: str, *answers: Any, **fields: Any) -> Agent:
    return Agent(name=name, model=ScriptedModel([*answers] * 5), **fields)


SHAPES: dict[str, Callable[[], Any]] = {
    "text": lambda: words("clerk", "hello"),
    "tools": lambda: words("clerk", [call("add", a=1, b=2), call("add", a=3, b=4)], "ten", tools=[add]),
    "transfer": lambda: words(
        "clerk", [call("transfer_to_agent", agent_name="helper")], sub_agents=[words("helper", "here")]
    ),
    "sequence": lambda: SequentialAgent(name="clerk", sub_agents=[words("first", "one"), words("second", "two")]),
    "parallel": lambda: ParallelAgent(
        name="clerk", sub_agents=[words("left", [call("add", a=1, b=1)], "one", tools=[add]), words("right", "two")]
    ),
    "loop": lambda: LoopAgent(name="clerk", sub_agents=[words("again", "one", "two")], max_iterations=2),
}


def say(client: httpx.Client, user: str = "ann", session: str = "s") -> list[dict[str, Any]]:
    client.post(f"/apps/clerk/users/{user}/sessions/{session}")
    said = {"role": "user", "parts": [{"text": f"hello from {user}"}]}
    body = {"appName": "clerk", "userId": user, "sessionId": session, "newMessage": said}
    events: list[dict[str, Any]] = client.post("/run", json=body).json()
    return events


@pytest.mark.parametrize("shape", SHAPES)
def test_stored_events_tell_what_was_seen(serve: Serve, tmp_path: Path, shape: str) -> None:
    uri = f"sqlite:///{tmp_path}/s.db"
    seeing = serve(agents={"clerk": SHAPES[shape]()}, options=DEVELOPMENT, session_service=uri)
    reading = serve(agents={"clerk": SHAPES[shape]()}, options=DEVELOPMENT, session_service=uri)
    events = say(seeing)
    seen = seeing.get("/dev/apps/clerk/debug/trace/session/s").json()
    read = reading.get("/dev/apps/clerk/debug/trace/session/s").json()
    assert {one["trace_id"] for one in seen} != {one["trace_id"] for one in read}
    made = [{one["attributes"][EVENT]: one for one in spans if EVENT in one["attributes"]} for spans in (seen, read)]
    assert made[0].keys() == made[1].keys() == {event["id"] for event in events}
    for id_, span in made[0].items():
        other = made[1][id_]["attributes"]
        for name in ("gen_ai.operation.name", "gen_ai.usage.input_tokens", "gcp.vertex.agent.invocation_id"):
            assert span["attributes"].get(name) == other.get(name)
        answer = reading.get(f"/dev/apps/clerk/debug/trace/{id_}").json()
        assert answer == reading.get(f"/debug/trace/{id_}?user_id=ann&session_id=s").json()
        assert answer[EVENT] == id_
        if "gcp.vertex.agent.llm_response" in other:
            expected = next(event for event in events if event["id"] == id_)["content"]
            assert json.loads(other["gcp.vertex.agent.llm_response"])["content"] == expected
            assert "hello from ann" in other["gcp.vertex.agent.llm_request"]
    by_id = {one["span_id"]: one for one in read}
    assert len(by_id) == len(read)
    (root,) = [one for one in read if one["parent_span_id"] is None]
    for one in read:
        parent = by_id.get(one["parent_span_id"], root)
        assert parent["start_time"] <= one["start_time"] <= one["end_time"] <= parent["end_time"]


def test_runs_of_code_and_of_another_process_appear(serve: Serve, tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/s.db"
    client = serve(agents={"clerk": words("clerk", "hello")}, options=DEVELOPMENT, session_service=uri)
    say(client)
    code = (
        "import asyncio\nfrom newel import Agent, Runner\nfrom newel.sessions import SqliteSessionService\n"
        "async def main():\n"
        f"    store = SqliteSessionService({uri!r})\n"
        "    agent = Agent(name='clerk', model='echo:')\n"
        "    async with Runner(app_name='clerk', agent=agent, session_service=store) as r:\n"
        "        async for _ in r.run_async(user_id='ann', session_id='s', new_message='from afar'):\n"
        "            pass\n"
        "    await store.close()\nasyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    spans = client.get("/dev/apps/clerk/debug/trace/session/s").json()
    assert [one["attributes"].get("newel.from_events", False) for one in spans] == [False] * 3 + [True] * 3
    assert [one["name"] for one in spans] == ["invocation", "invoke_agent clerk", "call_llm"] * 2
    assert "from afar" in spans[-1]["attributes"]["gcp.vertex.agent.llm_response"]


def test_users_with_sessions_of_one_id_never_see_each_other(serve: Serve) -> None:
    store = InMemorySessionService()
    agents = {"clerk": words("clerk", "hello")}
    for client in (serve(agents=agents, options=DEVELOPMENT, session_service=store) for _ in range(2)):
        events = {user: say(client, user) for user in ("ann", "bob")}
        path = "/dev/apps/clerk/debug/trace/session/s"
        for one in (path, "/debug/trace/session/s"):
            latest = client.get(one).text
            assert "from bob" in latest
            assert "from ann" not in latest
        for user, other in (("ann", "bob"), ("bob", "ann")):
            text = client.get(path, params={"user_id": user}).text
            assert f"from {user}" in text
            assert f"from {other}" not in text
            id_ = events[user][-1]["id"]
            assert client.get(f"/dev/apps/clerk/debug/trace/{id_}", params={"user_id": user}).status_code == 200
            assert client.get(f"/dev/apps/clerk/debug/trace/{id_}", params={"user_id": other}).status_code == 404
        assert client.get(path, params={"user_id": "eve"}).json() == []


async def by_header(connection: Any) -> str | None:
    name: str | None = connection.headers.get("x-user")
    return name


class ByHeader:
    """Says who calls, by a header."""

    name = "by_header"

    @hookimpl
    def register_user_ofs(self) -> list[Any]:
        from newel.server import UserOf

        return [UserOf(name="header", user_of=by_header)]


def test_a_known_caller_sees_their_own_without_asking_for_it(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "known.yaml").write_text("extends: standard\nsettings: {server: {user_of: header}}\n")
    composed = compose(str(tmp_path / "known.yaml"), plugins=[ByHeader()])
    client = serve(agents={"clerk": words("clerk", "hello")}, options=DEVELOPMENT, composition=composed)
    ids: dict[str, str] = {}
    for user in ("ann", "bob"):
        client.headers["x-user"] = user
        ids[user] = say(client, user)[-1]["id"]
    for path in ("/dev/apps/clerk/debug/trace/session/s", "/debug/trace/session/s"):
        text = client.get(path).text
        assert "from bob" in text
        assert "from ann" not in text
        assert client.get(path, params={"user_id": "ann"}).status_code == 403
    assert client.get(f"/dev/apps/clerk/debug/trace/{ids['ann']}").status_code == 404
    assert client.get(f"/dev/apps/clerk/debug/trace/{ids['bob']}").status_code == 200


def test_a_deleted_session_leaves_no_trace(serve: Serve) -> None:
    client = serve(agents={"clerk": words("clerk", "hello")}, options=DEVELOPMENT)
    id_ = say(client)[-1]["id"]
    client.delete("/apps/clerk/users/ann/sessions/s")
    assert client.get("/dev/apps/clerk/debug/trace/session/s").json() == []
    assert client.get(f"/dev/apps/clerk/debug/trace/{id_}").status_code == 404


def test_long_histories_do_not_repeat_themselves_without_end(tmp_path: Path) -> None:
    store = SqliteSessionService(f"sqlite:///{tmp_path}/s.db")

    async def main() -> int:
        session = await store.create_session(app_name="clerk", user_id="ann", session_id="s")
        for number in range(300):
            author = "clerk" if number % 2 else "user"
            event = Event(author=author, invocation_id=f"i{number // 2}", message="x" * 2000)
            await store.append_event(session, event)
        spans = StoredTraces(session).spans()
        await store.close()
        assert len(spans) == 450
        return len(json.dumps(spans))

    assert asyncio.run(main()) < 6_000_000


def test_a_change_of_state_is_not_a_run(serve: Serve) -> None:
    client = serve(agents={"clerk": words("clerk", "hello")}, options=DEVELOPMENT)
    client.post("/apps/clerk/users/ann/sessions/s")
    client.patch("/apps/clerk/users/ann/sessions/s", json={"stateDelta": {"a": 1}})
    assert client.get("/dev/apps/clerk/debug/trace/session/s").json() == []


def test_runs_of_code_over_the_servers_own_store(serve: Serve) -> None:
    store = InMemorySessionService()
    client = serve(agents={"clerk": words("clerk", "hello")}, options=DEVELOPMENT, session_service=store)

    async def main() -> None:
        async with Runner(app_name="clerk", agent=words("clerk", "hello"), session_service=store) as runner:
            await store.create_session(app_name="clerk", user_id="ann", session_id="s")
            async for _ in runner.run_async(user_id="ann", session_id="s", new_message="hello"):
                pass

    asyncio.run(main())
    names = [one["name"] for one in client.get("/debug/trace/session/s").json()]
    assert names == ["invocation", "invoke_agent clerk", "call_llm"]


class Busy(BaseLlm):
    """A service that refuses twice, then answers in chunks."""

    model: str = "claude-sonnet-4-5"
    provider: ClassVar[str] = "busy"
    networked: ClassVar[bool] = True
    retry_options: HttpRetryOptions = HttpRetryOptions(initial_delay=0.02)
    asked: int = 0

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        self.asked += 1
        if self.asked < 3:
            raise ModelError("too many requests", code=429, retryable=True)
        content = Content(role="model", parts=[Part(text="there")])
        yield LlmResponse(content=content, partial=True)
        await asyncio.sleep(0.03)
        yield LlmResponse(content=content, model_version=self.model)


def test_tries_and_the_first_chunk_of_a_call_are_seen(serve: Serve) -> None:
    client = serve(agents={"clerk": Agent(name="clerk", model=Busy())}, options=DEVELOPMENT)
    client.post("/apps/clerk/users/ann/sessions/s")
    said = {"role": "user", "parts": [{"text": "hello"}]}
    body = {"appName": "clerk", "userId": "ann", "sessionId": "s", "newMessage": said, "streaming": True}
    client.post("/run_sse", json=body).raise_for_status()
    spans = client.get("/dev/apps/clerk/debug/trace/session/s").json()
    (model,) = [one for one in spans if one["name"] == "call_llm"]
    retries = [one for one in spans if one["name"] == "retry model_retries"]
    assert [one["parent_span_id"] for one in retries] == [model["span_id"]] * 2
    for one in retries:
        assert one["attributes"]["newel.retry.policy"] == "model_retries"
        assert one["attributes"]["newel.error"].startswith("ModelError: too many requests")
        waited = (one["end_time"] - one["start_time"]) / 1e9
        assert waited >= one["attributes"]["newel.retry.delay"] * 0.9
    seconds = (model["end_time"] - model["start_time"]) / 1e9
    assert sum(one["attributes"]["newel.retry.delay"] for one in retries) * 0.9 < model["attributes"][FIRST_CHUNK]
    assert model["attributes"][FIRST_CHUNK] < seconds - 0.02
    assert model["attributes"][WINDOW] == 200_000


SECRET = "sk-0123456789abcdef"


def lost(number: int) -> str:
    """Look up an order."""
    return looked_up(number)


def looked_up(number: int) -> str:
    raise LookupError(f"no order {number}")


def test_a_failed_tool_has_the_lines_of_its_own_code(serve: Serve) -> None:
    agent = words("clerk", [call("lost", number=7)], "sorry", tools=[lost])
    client = serve(agents={"clerk": agent}, options=DEVELOPMENT)
    say(client)
    spans = client.get("/dev/apps/clerk/debug/trace/session/s").json()
    (tool,) = [one["attributes"] for one in spans if one["name"] == "execute_tool lost"]
    assert tool["newel.error"].startswith("LookupError: no order 7")
    frames = tool["newel.error.frames"]
    assert [(one["function"], Path(one["file"]).name) for one in frames] == [
        ("lost", "test_traces.py"),
        ("looked_up", "test_traces.py"),
    ]
    assert frames[-1]["source"][frames[-1]["line"] - frames[-1]["first"]].strip().startswith("raise LookupError")
    events = client.get("/apps/clerk/users/ann/sessions/s").text
    assert "test_traces.py" not in events  # a place is for developers, not for a store


async def leaky(tool_context: Context) -> str:
    """Use a secret."""
    tool_context.get_invocation_context().stash.setdefault(SECRETS, Secrets()).add([SECRET])
    raise ValueError(f"refused: {SECRET}")


def test_the_secrets_of_an_invocation_are_not_in_its_failures(serve: Serve) -> None:
    agent = words("clerk", [call("leaky")], "sorry", tools=[leaky])
    client = serve(agents={"clerk": agent}, options=DEVELOPMENT)
    say(client)
    text = client.get("/dev/apps/clerk/debug/trace/session/s").text
    assert "refused" in text
    assert SECRET not in text
