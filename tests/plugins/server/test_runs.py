"""Runs over HTTP: answered, streamed, followed, cancelled, and resumed from the log."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from pydantic import Field
from tests.plugins.server.conftest import Serve, served

from newel import Agent
from newel.models import BaseLlm, LlmRequest, LlmResponse
from newel.server import Options, app
from newel.types import Content, Part
from newel_compose import compose

SESSION = "/apps/clerk/users/ann/sessions/s"


class Talker(BaseLlm):
    """Says as many words as it is asked for, each after `pause` seconds, then all of them."""

    model: str = "talker"
    pause: float = 0.0
    ended: list[str] = Field(default_factory=list)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        asked = llm_request.contents[-1].parts[-1].text
        if asked == "fail":
            raise RuntimeError("password=hunter2")
        try:
            for number in range(int(asked)):
                await asyncio.sleep(self.pause)
                if stream:
                    yield said(f"{number} ", partial=True)
            yield said(f"all {asked}")
            self.ended.append("whole")
        except (asyncio.CancelledError, GeneratorExit):
            self.ended.append("cut")
            raise


def said(text: str, **fields: Any) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=[Part(text=text)]), **fields)


def message(text: str, **fields: Any) -> dict[str, Any]:
    new = {"role": "user", "parts": [{"text": text}]}
    return {"appName": "clerk", "userId": "ann", "sessionId": "s", "newMessage": new, **fields}


def talk(serve: Serve, pause: float = 0.0, **options: Any) -> tuple[httpx.Client, Talker]:
    model = Talker(pause=pause, ended=[])
    client = serve(agents={"clerk": Agent(name="clerk", model=model)}, **options)
    client.post(SESSION)
    return client, model


def frames(text: str) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for frame in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.split("\n") if ": " in line and line[0] != ":")
        if "data" in fields:
            found.append((fields.get("id", ""), json.loads(fields["data"])))
    return found


def texts(events: list[dict[str, Any]]) -> list[str]:
    return ["".join(part.get("text", "") for part in one.get("content", {}).get("parts", [])) for one in events]


def until(true: Callable[[], object]) -> None:
    for _ in range(500):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come true")


def test_a_run_is_answered_with_its_events_as_they_are_stored(serve: Serve) -> None:
    client, _ = talk(serve)
    events = client.post("/run", json=message("3")).json()
    assert texts(events) == ["all 3"]
    assert events[0]["nodeInfo"] == {"path": "clerk@1"}
    assert events[0]["actions"]["stateDelta"] == {}
    assert client.get(SESSION).json()["events"][-1] == events[0]


def test_a_stream_numbers_its_frames_and_ends_with_a_comment(serve: Serve) -> None:
    client, _ = talk(serve)
    answer = client.post("/run_sse", json=message("3", streaming=True))
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.endswith("\n\n: end\n\n")
    found = frames(answer.text)
    assert texts([event for _, event in found]) == ["0 ", "1 ", "2 ", "all 3"]
    invocation = found[0][1]["invocationId"]
    assert [id_ for id_, _ in found] == [f"{invocation}:{number}" for number in (1, 1, 1, 2)]


def test_keys_stand_once_in_the_json_of_an_event(serve: Serve) -> None:
    client, _ = talk(serve)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs)
        return dict(pairs)

    client.post("/run", json=message("1", stateDelta={"a": 1}))
    json.loads(client.get(SESSION).text, object_pairs_hook=once)


@pytest.mark.parametrize("path", ["/run", "/run_sse"])
def test_what_cannot_begin_is_refused_with_a_status(serve: Serve, path: str) -> None:
    client, _ = talk(serve)
    assert client.post(path, json=message("1", appName="ghost")).status_code == 404
    assert client.post(path, json=message("1", sessionId="ghost")).status_code == 404
    assert client.post(path, json={"appName": "clerk"}).status_code == 422
    assert client.post(path, json={**message("1"), "newMessage": None}).status_code == 422
    assert client.post(path, json={**message("1"), "newMessage": {"parts": []}}).status_code == 422
    answer = {"functionResponse": {"id": "nobody", "name": "asked", "response": {}}}
    refused = client.post(path, json={**message("1"), "newMessage": {"role": "user", "parts": [answer]}})
    assert (refused.status_code, client.get(SESSION).json()["events"]) == (409, [])


def test_a_failure_tells_its_reference_and_no_text(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    client, _ = talk(serve, composition=compose("adk"))
    answer = client.post("/run", json=message("fail"))
    assert answer.status_code == 500
    stream = client.post("/run_sse", json=message("fail"))
    (_, error), *rest = frames(stream.text)
    assert (stream.status_code, error["error"], rest) == (200, "Internal Server Error", [])
    assert "hunter2" not in answer.text + stream.text
    assert answer.json()["ref"] in caplog.text
    assert error["ref"] in caplog.text
    assert texts(client.post("/run", json=message("1")).json()) == ["all 1"]


@pytest.mark.parametrize(("field", "ended"), [(None, "cut"), ("cancel", "cut"), ("detach", "whole")])
@pytest.mark.parametrize("path", ["/run", "/run_sse"])
def test_a_run_whose_client_leaves_is_cancelled_or_goes_on(
    serve: Serve, path: str, field: str | None, ended: str
) -> None:
    client, model = talk(serve, pause=0.05)
    body = message("10", streaming=True, **({"onDisconnect": field} if field else {}))
    with suppress(httpx.ReadTimeout), client.stream("POST", path, json=body, timeout=0.2) as answer:
        next(answer.iter_raw())
    until(lambda: model.ended)
    assert model.ended == [ended]
    until(lambda: not client.get(f"{SESSION}/runs").json())
    assert texts(client.post("/run", json=message("1")).json()) == ["all 1"]


def test_a_client_that_comes_back_gets_what_it_missed(serve: Serve) -> None:
    client, _ = talk(serve)
    whole = client.post("/run_sse", json=message("2", streaming=True)).text
    last, event = frames(whole)[-1]
    invocation = last.rpartition(":")[0]
    for number, expected in ((0, [event]), (1, [event]), (2, [])):
        again = client.post("/run_sse", json=message("2"), headers={"last-event-id": f"{invocation}:{number}"})
        assert [one for _, one in frames(again.text)] == expected
        assert again.text.endswith(": end\n\n")
    assert len(client.get(SESSION).json()["events"]) == 2
    assert client.post("/run_sse", json=message("2"), headers={"last-event-id": "nonsense"}).status_code == 422


def test_others_follow_a_run_and_cancel_it(serve: Serve) -> None:
    client, model = talk(serve, pause=0.05)
    answers: list[str] = []

    def stream() -> None:
        answers.append(client.post("/run_sse", json=message("100", streaming=True)).text)

    def follow(id_: str) -> None:
        answers.append(client.get(f"{SESSION}/runs/{id_}/events").text)

    threads = [threading.Thread(target=stream)]
    threads[0].start()
    until(lambda: [one for one in client.get(f"{SESSION}/runs").json() if one["invocationId"]])
    (run,) = client.get(f"{SESSION}/runs").json()
    assert run["status"] == "running"
    for id_ in (run["id"], run["invocationId"]):
        threads.append(threading.Thread(target=follow, args=[id_]))
        threads[-1].start()
    assert client.post("/run", json=message("1")).status_code == 409
    time.sleep(0.3)
    cancelled = client.post(f"{SESSION}/runs/{run['id']}/cancel")
    assert cancelled.json()["status"] == "cancelled"
    for thread in threads:
        thread.join()
    assert all(frames(one) and one.endswith(": end\n\n") for one in answers)
    assert model.ended == ["cut"]
    assert client.get(f"{SESSION}/runs").json() == []
    assert client.get(f"{SESSION}-ghost/runs").status_code == 404
    assert client.post(f"{SESSION}/runs/{run['invocationId']}/cancel").status_code == 409
    assert client.post(f"{SESSION}/runs/ghost/cancel").status_code == 404
    assert client.get(f"{SESSION}/runs/ghost/events").status_code == 404
    assert client.get(f"{SESSION}/runs/{run['invocationId']}/events").text.endswith(": end\n\n")


def test_deleting_a_session_ends_its_run(serve: Serve) -> None:
    client, model = talk(serve, pause=0.05)
    with client.stream("POST", "/run_sse", json=message("100", streaming=True)) as answer:
        next(answer.iter_raw())
        client.delete(SESSION)
        assert model.ended == ["cut"]
    assert client.get(SESSION).status_code == 404


def test_silence_is_broken_by_comments(serve: Serve, tmp_path: Any) -> None:
    settings = tmp_path / "mine.yaml"
    settings.write_text("extends: standard\nsettings: {server: {heartbeat: 0.05, on_disconnect: detach}}\n")
    client, model = talk(serve, pause=0.3, distribution=str(settings))
    text = client.post("/run_sse", json=message("1")).text
    assert text.count(": waiting\n\n") >= 2
    with client.stream("POST", "/run_sse", json=message("1", streaming=True)) as answer:
        next(answer.iter_raw())
    until(lambda: len(model.ended) == 2)
    assert model.ended == ["whole", "whole"]


def test_another_server_over_the_same_store_tells_what_a_client_missed(tmp_path: Any) -> None:
    uri = f"sqlite:///{tmp_path / 'sessions.db'}"

    def server() -> Any:
        model = Talker(pause=0.05)
        return served(app(agents={"clerk": Agent(name="clerk", model=model)}, session_service=uri, options=Options()))

    with server() as one, server() as other:
        one.post(SESSION)
        with one.stream("POST", "/run_sse", json=message("20", streaming=True, onDisconnect="detach")) as answer:
            first = frames(next(pieces(answer)))[0]
        invocation = first[1]["invocationId"]
        missed = other.get(f"{SESSION}/runs/{invocation}/events", headers={"last-event-id": first[0]}).text
        assert texts([event for _, event in frames(missed)]) == ["all 20"]


def pieces(answer: httpx.Response) -> Iterator[str]:
    text = ""
    for piece in answer.iter_text():
        text += piece
        if frames(text):
            yield text
