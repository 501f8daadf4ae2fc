"""What is rare: ids with blanks around them, runs that nobody knows, a store that is locked, two servers at once."""

from __future__ import annotations

import logging
import sqlite3
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.plugins.server.conftest import Serve
from tests.plugins.server.test_questions import paid, pay, say
from tests.plugins.server.test_runs import SESSION, message, talk
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from newel import Agent
from newel.server import Options
from newel.server.process import _log
from newel.sessions import SqliteSessionService
from newel.testing import ScriptedModel
from newel.tools import FunctionTool
from newel.types import FunctionCall

SESSIONS = "/apps/clerk/users/ann/sessions"


@pytest.mark.parametrize("id_", ["s ", " s", "\ts", "s\n", "s\u00a0", "  ", "s\x1c"])
def test_an_id_with_blanks_around_it_is_refused_wherever_a_session_is_created(serve: Serve, id_: str) -> None:
    client = serve()
    client.post(f"{SESSIONS}/s")
    answers = [
        client.post(SESSIONS, json={"sessionId": id_}),
        client.post(SESSIONS, json={"sessionId": id_, "forkOf": {"sessionId": "s"}}),
        client.post(f"{SESSIONS}/{quote(id_)}"),
    ]
    assert [answer.status_code for answer in answers] == [422] * 3
    assert all("must not begin or end with a blank" in answer.text for answer in answers)
    assert [one["id"] for one in client.get(SESSIONS).json()] == ["s"]


def test_an_id_with_blanks_in_it_is_kept(serve: Serve) -> None:
    client = serve()
    assert client.post(SESSIONS, json={"sessionId": "a b"}).json()["id"] == "a b"
    assert client.get(f"{SESSIONS}/a%20b").json()["id"] == "a b"


@pytest.mark.parametrize("last", ["e-nobody:0", "e-nobody:7"])
def test_to_come_back_to_a_run_that_nobody_knows_is_refused(serve: Serve, last: str) -> None:
    client, _ = talk(serve)
    client.post("/run", json=message("1"))
    for session in (SESSION, SESSION + "-of-nobody"):
        body = {**message("1"), "sessionId": session.rpartition("/")[2]}
        assert client.post("/run_sse", json=body, headers={"last-event-id": last}).status_code == 404


def test_a_text_that_is_not_utf8_closes_the_socket_with_one_line_in_the_log(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = serve()
    client.post(f"{SESSIONS}/s")
    _log(Options(access_log=False))
    logged: list[logging.LogRecord] = []
    handler = logging.Handler(logging.ERROR)
    monkeypatch.setattr(handler, "emit", logged.append)
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "handlers", [handler])
    url = str(client.base_url).replace("http", "ws", 1).rstrip("/")
    query = "app_name=clerk&user_id=ann&session_id=s&modalities=TEXT"
    with connect(f"{url}/run_live?{query}") as socket:
        socket.send(b"\xff\xfe", text=True)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1007
    assert [(record.getMessage(), record.exc_info) for record in logged] == [
        ("Invalid UTF-8 sequence received from client.", None)
    ]


def test_a_store_that_cannot_be_reached_is_answered_with_503(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    client = serve(session_service=SqliteSessionService(file, patience=0.2), agents={"clerk": Agent(name="clerk")})
    assert client.post(f"{SESSIONS}/s").status_code == 200
    other = sqlite3.connect(file)
    other.execute("BEGIN EXCLUSIVE")
    try:
        answer = client.post(f"{SESSIONS}/t")
    finally:
        other.close()
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.json() == {"detail": "The sessions cannot be reached: try again"}
    assert client.post(f"{SESSIONS}/t").status_code == 200


def test_a_question_that_two_servers_answer_at_once_is_acted_on_once(serve: Serve, tmp_path: Path) -> None:
    def server() -> httpx.Client:
        model = ScriptedModel([FunctionCall(name="pay", args={"amount": 20}), *["done"] * 20])
        agent = Agent(name="clerk", model=model, tools=[FunctionTool(pay, require_confirmation=True)])
        return serve(session_service=SqliteSessionService(tmp_path / "s.db"), agents={"clerk": agent})

    servers, statuses = [server(), server()], list[int]()
    servers[0].post(f"{SESSIONS}/s")
    paid.clear()
    say(servers[0], "pay 20")
    (question,) = servers[1].get(f"{SESSIONS}/s/questions").json()
    together = threading.Barrier(2)

    def answer(client: httpx.Client) -> None:
        together.wait(30)
        body: dict[str, Any] = {"answer": {"confirmed": True}, "follow": True}
        statuses.append(client.post(f"{SESSIONS}/s/questions/{question['id']}", json=body).status_code)

    threads = [threading.Thread(target=answer, args=(one,)) for one in servers]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert paid == [20]
    assert 200 in statuses
    assert set(statuses) <= {200, 404, 409}
    results = [
        part["functionResponse"]["response"]
        for event in servers[1].get(f"{SESSIONS}/s").json()["events"]
        for part in event.get("content", {}).get("parts", [])
        if part.get("functionResponse", {}).get("name") == "pay" and event["author"] == "clerk"
    ]
    assert results.count({"result": "paid 20"}) == 1
