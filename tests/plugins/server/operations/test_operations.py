"""A server that is watched, full, or about to end."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.plugins.server.conftest import Serve
from tests.plugins.server.operations.conftest import AGENT, Start, client_of, message, sessions

from newel import Agent
from newel.artifacts import InMemoryArtifactService
from newel.server import Options
from newel.server.operations import readiness
from newel.server.operations.listening import listen
from newel.server.operations.load import LOAD
from newel.sessions import InMemorySessionService
from newel.testing import ScriptedModel


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
    assert time.monotonic() - began < 5


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
