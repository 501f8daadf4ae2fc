"""A server that is watched, full, or about to end."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from tests.plugins.server.conftest import Serve
from tests.plugins.server.operations.conftest import AGENT, Start, client_of, message, sessions
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from newel import Agent
from newel.artifacts import InMemoryArtifactService
from newel.server import Options
from newel.server.operations import readiness
from newel.server.operations.listening import listen
from newel.server.operations.load import LOAD
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel
from newel.tools import FunctionTool
from newel_kernel import LlmRequest
from newel_types import FunctionCall


def slow_agent() -> Agent:
    async def late(request: Any) -> str:
        await asyncio.sleep(1)
        return "late"

    return Agent(name="clerk", model=ScriptedModel([late] * 20))


def test_one_run_too_many_is_told_when_to_come_again(serve: Serve) -> None:
    client = serve(agents={"clerk": slow_agent()}, options=Options(max_runs=2))
    sessions(client, "a", "b", "c")
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda name=name: answers.append(client.post("/run", json=message(name)).status_code))
        for name in "ab"
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.4)
    refused = client.post("/run", json=message("c"))
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"
    assert "--max-runs" in refused.json()["detail"]
    assert client.get("/list-apps").status_code == 200
    for thread in threads:
        thread.join()
    assert answers == [200, 200]
    assert client.post("/run", json=message("c")).status_code == 200


def approving_agent() -> Agent:
    """Asks for an approval, and takes a while after it; also when it is told to wait."""

    async def answer(request: LlmRequest) -> Any:
        part = (request.contents[-1].parts or [])[-1]
        if part.text == "hi":
            return FunctionCall(name="approve", args={})
        await asyncio.sleep(1.5)
        return "late"

    def approve() -> str:
        """Do it."""
        return "done"

    tool = FunctionTool(approve, require_confirmation=True)
    return Agent(name="clerk", model=ScriptedModel([answer] * 20), tools=[tool])


def remark(name: str) -> tuple[str, Any]:
    return f"/apps/clerk/users/u/sessions/{name}/steer", {"newMessage": message(name, "wait")["newMessage"]}


@pytest.mark.parametrize("first", ["run", "steer", "answer", "live"])
def test_a_run_counts_and_is_refused_whichever_way_it_begins(serve: Serve, first: str) -> None:
    client = serve(agents={"clerk": approving_agent()}, options=Options(max_runs=1))
    sessions(client, "a", "b", "c")
    for name in "ab":
        assert client.post("/run", json=message(name)).status_code == 200
    paths = {}
    for name in "ab":
        (question,) = client.get(f"/apps/clerk/users/u/sessions/{name}/questions").json()
        paths[name] = f"/apps/clerk/users/u/sessions/{name}/questions/{question['id']}"
    base = str(client.base_url).rstrip("/")
    live = f"{base.replace('http', 'ws')}/run_live?app_name=clerk&user_id=u&session_id=c&modalities=TEXT"
    with ExitStack() as open_:
        if first == "live":
            open_.enter_context(connect(live, proxy=None))
        elif first == "answer":
            begun = client.post(paths["a"], json={"answer": True})
            assert begun.json()["status"] == "running"
        else:
            request = message("c", "wait", onDisconnect="detach")
            path, body = ("/run_sse", request) if first == "run" else remark("c")
            streamed = client.send(client.build_request("POST", path, json=body), stream=True)
            open_.callback(streamed.close)
        counts = _event_counts(client)
        for path, body in (
            ("/run", message("c")),
            ("/run_sse", message("c")),
            remark("c"),
            (paths["b"], {"answer": True}),
        ):
            refused = client.post(path, json=body)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1"), path
            assert "--max-runs" in refused.json()["detail"]
        with pytest.raises(InvalidStatus) as denied:
            connect(live, proxy=None).__enter__()
        assert denied.value.response.status_code == 429
        assert _event_counts(client)["b"] == counts["b"]
    deadline = time.monotonic() + 30
    while (answer := client.post(paths["b"], json={"answer": True})).status_code == 429:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert answer.status_code == 200


def _event_counts(client: httpx.Client) -> dict[str, int]:
    path = "/apps/clerk/users/u/sessions"
    return {name: len(client.get(f"{path}/{name}").json()["events"]) for name in "abc"}


def test_no_door_begins_a_run_while_the_server_ends(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve(agents={"clerk": approving_agent()})
    sessions(client, "a", "b")
    client.post("/run", json=message("a"))
    (question,) = client.get("/apps/clerk/users/u/sessions/a/questions").json()
    answer = f"/apps/clerk/users/u/sessions/a/questions/{question['id']}"
    before = len(client.get("/apps/clerk/users/u/sessions").json())
    monkeypatch.setattr(LOAD, "draining", True)
    for path, body in (("/run", message("b")), ("/run_sse", message("b")), remark("b"), (answer, {"answer": True})):
        refused = client.post(path, json=body)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5"), path
    result = asyncio.run(_ask_by_mcp(f"{str(client.base_url).rstrip('/')}/apps/clerk/mcp"))
    assert result.is_error
    assert "about to end" in result.content[0].text
    assert len(client.get("/apps/clerk/users/u/sessions").json()) == before


async def _ask_by_mcp(url: str) -> Any:
    async with (
        httpx2.AsyncClient(trust_env=False) as http,
        McpClient(streamable_http_client(url, http_client=http)) as client,
    ):
        return await client.call_tool("clerk", {"request": "hello"})


def test_ready_says_whether_work_may_come(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve()
    assert client.get("/ready").json() == {"status": "ready"}
    sessions(client, "a")
    monkeypatch.setattr(LOAD, "draining", True)
    assert client.get("/ready").status_code == 503
    assert client.post("/run", json=message("a")).status_code == 503
    assert client.get("/health").status_code == 200


def test_a_store_that_fails_is_not_ready(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(InMemorySessionService):
        async def get_session(self, **_: Any) -> Any:
            raise OSError("password=hunter2")

    answer = serve(session_service=Broken()).get("/ready")
    assert answer.status_code == 503
    assert "hunter2" not in answer.text
    (fault,) = answer.json()["failed"]
    assert fault["store"] == "sessions"
    assert fault["ref"] in caplog.text


def test_ready_names_the_apps_that_do_not_load_and_asks_the_stores_seldom(serve: Serve, tmp_path: Path) -> None:
    asked: list[float] = []

    class Counted(InMemorySessionService):
        async def get_session(self, **where: Any) -> Any:
            asked.append(time.monotonic())
            return await super().get_session(**where)

    for name, text in {"broken": "raise RuntimeError('password=hunter2')", "good": AGENT}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent.py").write_text(text)
    client = serve(tmp_path, session_service=Counted())
    answers = [client.get("/ready") for _ in range(5)]
    assert {answer.status_code for answer in answers} == {200}
    (fault,) = answers[0].json()["failed"]
    assert fault["app"] == "broken"
    assert "hunter2" not in answers[0].text
    assert len(asked) < len(answers)
    (tmp_path / "good" / "agent.py").unlink()
    only_broken = serve(tmp_path).get("/ready")
    assert (only_broken.status_code, only_broken.json()["status"]) == (503, "no app can be loaded")


@pytest.mark.parametrize("slow", ["session_service", "artifact_service"])
def test_a_store_that_does_not_answer_is_not_ready(serve: Serve, monkeypatch: pytest.MonkeyPatch, slow: str) -> None:
    async def never(*_: object, **__: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(readiness, "_PATIENCE", 0.2)
    store = InMemorySessionService() if slow == "session_service" else InMemoryArtifactService()
    monkeypatch.setattr(store, "get_session" if slow == "session_service" else "list_artifact_keys", never)
    client = serve(**{slow: store})
    began = time.monotonic()
    assert client.get("/ready").status_code == 503
    assert client.get("/health").status_code == 200
    assert time.monotonic() - began < 30


def test_ready_waits_for_apps_that_load_slowly(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_PATIENCE", 0.1)
    monkeypatch.setattr(readiness, "_FRESH", 0.05)
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "agent.py").write_text(f"import time\ntime.sleep(1)\n{AGENT}")
    client = serve(tmp_path)
    assert client.get("/ready").json() == {"status": "the apps are being loaded"}
    deadline = time.monotonic() + 30
    while client.get("/ready").status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_access_log_has_ids_and_no_content(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "newel.access")
    client = serve(options=Options(access_log=True))
    sessions(client, "a")
    events = client.post("/run", json=message("a", "the secret"), params={"q": "the query"}).json()
    client.get("/apps/clerk/users/u%2Fv/sessions/a")
    records = [record.getMessage() for record in caplog.records if record.name == "newel.access"]
    lines = [json.loads(record) for record in records]
    assert [(line["method"], line["status"]) for line in lines] == [("POST", 200), ("POST", 200), ("GET", 404)]
    assert lines[1]["run"] == events[0]["invocationId"]
    assert (lines[1]["app"], lines[1]["user"], lines[1]["session"]) == ("clerk", "u", "a")
    assert "secret" not in str(records)
    assert "query" not in str(records)


def test_the_run_belongs_to_the_callers_trace(serve: Serve) -> None:
    from opentelemetry import trace

    seen: list[str] = []

    def answer(request: Any) -> str:
        seen.append(f"{trace.get_current_span().get_span_context().trace_id:032x}")
        return "hi"

    client = serve(agents={"clerk": Agent(name="clerk", model=ScriptedModel([answer] * 5))})
    sessions(client, "a")
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    for headers in ({"traceparent": f"00-{trace_id}-b7ad6b7169203331-01"}, {"traceparent": "nonsense"}, {}):
        assert client.post("/run", json=message("a"), headers=headers).status_code == 200
    assert seen == [trace_id, "0" * 32, "0" * 32]


def test_workers_share_a_store_and_the_token(start: Start) -> None:
    process, base, token = start("--workers", "2", "--sessions", "sqlite:///sessions.db")
    with client_of(base, token) as client:
        assert client.get("/list-apps").json() == ["clerk"]
        sessions(client, "a")
    assert httpx.get(f"{base}list-apps", trust_env=False, timeout=60).status_code == 401
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == -signal.SIGTERM


def test_no_answer_waits_for_the_client_to_acknowledge_its_first_half() -> None:
    (listening,) = listen("127.0.0.1", 0)
    with listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
