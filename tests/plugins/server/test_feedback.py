"""Feedback: stored with the session, listed over all of a user's sessions, and never shown to a model."""

from __future__ import annotations

from typing import Any

from tests.plugins.server.conftest import Serve

from newel import Agent
from newel.server import Options
from newel.testing import ScriptedModel


def _said(client: Any, session: str, text: str) -> list[dict[str, Any]]:
    body = {"appName": "clerk", "userId": "ann", "sessionId": session}
    said = {"newMessage": {"role": "user", "parts": [{"text": text}]}}
    events: list[dict[str, Any]] = client.post("/run", json={**body, **said}).raise_for_status().json()
    return events


def test_a_rating_is_stored_and_no_model_sees_it(serve: Serve) -> None:
    model = ScriptedModel(["Good morning", "Good evening"])
    client = serve(agents={"clerk": Agent(name="clerk", model=model)}, options=Options())
    client.post("/apps/clerk/users/ann/sessions/s")
    (answer,) = _said(client, "s", "hello")
    path = f"/apps/clerk/users/ann/sessions/s/events/{answer['id']}/feedback"
    client.post(path, json={"rating": "up"}).raise_for_status()
    client.post(path, json={"rating": "down", "comment": "too short, zebra"}).raise_for_status()
    (one,) = client.get("/apps/clerk/users/ann/feedback").json()
    assert {key: one[key] for key in ("eventId", "rating", "comment", "text", "sessionId", "index")} == {
        "eventId": answer["id"],
        "rating": "down",
        "comment": "too short, zebra",
        "text": "Good morning",
        "sessionId": "s",
        "index": 1,
    }
    assert client.get("/apps/clerk/users/ann/feedback?rating=up").json() == []
    assert client.get("/apps/clerk/users/bob/feedback").json() == []
    _said(client, "s", "and now?")
    asked = repr(model.requests[-1].contents) + repr(model.requests[-1].config)
    assert "zebra" not in asked
    assert "newel.feedback" not in asked
    assert [one.role for one in model.requests[-1].contents] == ["user", "model", "user"]
    whole = client.get("/apps/clerk/users/ann/sessions/s").json()
    notes = [one["customMetadata"] for one in whole["events"] if "customMetadata" in one]
    assert [one["newel.feedback"]["rating"] for one in notes] == ["up", "down"]  # it is exported with the session
    copy = client.post("/apps/clerk/users/bob/sessions", json={"events": whole["events"]}).json()
    assert [one["sessionId"] for one in client.get("/apps/clerk/users/bob/feedback").json()] == [copy["id"]]
    client.post(path, json={"rating": None}).raise_for_status()
    assert client.get("/apps/clerk/users/ann/feedback").json() == []


def test_only_answers_of_a_session_are_rated(serve: Serve) -> None:
    client = serve()
    client.post("/apps/clerk/users/ann/sessions/s")
    _said(client, "s", "hello")
    events = client.get("/apps/clerk/users/ann/sessions/s").json()["events"]
    place = "/apps/clerk/users/ann/sessions/s/events"
    assert client.post(f"{place}/none/feedback", json={"rating": "up"}).status_code == 404
    own = client.post(f"{place}/{events[0]['id']}/feedback", json={"rating": "up"})
    assert (own.status_code, own.json()["detail"]) == (400, "the event is the user's own: rate one of an agent")
    assert client.post(f"{place}/{events[1]['id']}/feedback", json={"rating": "meh"}).status_code == 422
    other = client.post(f"/apps/clerk/users/bob/sessions/s/events/{events[1]['id']}/feedback", json={"rating": "up"})
    assert other.status_code == 404
    assert len(client.get("/apps/clerk/users/ann/sessions/s").json()["events"]) == 2
