"""Sessions, artifacts and memory over HTTP."""

from __future__ import annotations

import base64

import pytest
from tests.plugins.server.conftest import Serve

from newel.sessions import InMemorySessionService

SESSIONS = "/apps/clerk/users/ann/sessions"


def test_a_session_is_created_read_changed_and_deleted(serve: Serve) -> None:
    client = serve()
    made = client.post(SESSIONS, json={"sessionId": "s1", "state": {"a": 1, "b": 2}}).json()
    assert made == {**made, "id": "s1", "appName": "clerk", "userId": "ann", "state": {"a": 1, "b": 2}, "events": []}
    assert client.post(SESSIONS, json={"sessionId": "s1"}).status_code == 409
    changed = client.patch(f"{SESSIONS}/s1", json={"stateDelta": {"a": None, "c": [3]}}).json()
    assert changed["state"] == {"b": 2, "c": [3]}
    assert [one["author"] for one in changed["events"]] == ["user"]
    assert client.get(f"{SESSIONS}/s1").json() == changed
    assert client.delete(f"{SESSIONS}/s1").json() is None
    assert client.get(f"{SESSIONS}/s1").status_code == 404
    assert client.patch(f"{SESSIONS}/s1", json={"stateDelta": {}}).status_code == 404


@pytest.mark.parametrize("name", ["a/b", "a b", "ü", "..%2F..", "a?b#c"])
def test_a_session_can_have_any_id(serve: Serve, name: str) -> None:
    from urllib.parse import quote

    client = serve()
    client.post(SESSIONS, json={"sessionId": name})
    assert client.get(f"{SESSIONS}/{quote(name, safe='')}").json()["id"] == name


@pytest.mark.parametrize(
    "body", [b"{", b'{"state": "text"}', b'{"sessionId": 7}', b'{"sessionId": ""}', b'{"events": [{}]}', b"[]"]
)
def test_a_bad_body_creates_nothing(serve: Serve, body: bytes) -> None:
    client = serve()
    refused = client.post(SESSIONS, content=body, headers={"content-type": "application/json"})
    assert refused.status_code == 422
    assert isinstance(refused.json()["detail"], list)
    assert client.get(SESSIONS).json() == []


def test_events_are_imported_all_or_none(serve: Serve) -> None:
    client = serve()
    call = {"functionCall": {"id": "c1", "name": "f", "args": {}}}
    events = [
        {"id": "e1", "author": "user", "invocationId": "i", "content": {"role": "user", "parts": [{"text": "hi"}]}},
        {"id": "e2", "author": "clerk", "invocationId": "i", "content": {"role": "model", "parts": [call]}},
    ]
    made = client.post(SESSIONS, json={"sessionId": "old", "events": events}).json()
    assert [one["id"] for one in made["events"]] == ["e1", "e2"]
    refused = client.post(SESSIONS, json={"sessionId": "new", "events": [*events, events[0]]})
    assert refused.status_code == 409
    assert client.get(f"{SESSIONS}/new").status_code == 404


def test_sessions_are_listed_in_pages(serve: Serve) -> None:
    client = serve()
    for number in range(5):
        client.post(SESSIONS, json={"sessionId": f"s{number}"})
    ids, url = [], f"{SESSIONS}?limit=2"
    for _ in range(3):
        page = client.get(url)
        ids.append([one["id"] for one in page.json()])
        url = f"{SESSIONS}{page.links['next']['url']}" if "next" in page.links else ""
    assert (ids, url) == ([["s0", "s1"], ["s2", "s3"], ["s4"]], "")
    assert client.get(f"{SESSIONS}?limit=2&after=nonsense").status_code == 404
    assert client.get(f"{SESSIONS}?limit=0").status_code == 422
    assert len(client.get(SESSIONS).json()) == 5


def test_artifacts_have_versions_and_names_with_slashes(serve: Serve) -> None:
    client = serve()
    client.post(SESSIONS, json={"sessionId": "s"})
    base = f"{SESSIONS}/s/artifacts"
    data = base64.urlsafe_b64encode(b"\xfb\xff").decode()
    saved = client.post(base, json={"filename": "a/b.txt", "artifact": {"text": "one"}, "customMetadata": {"by": "me"}})
    assert (saved.json()["version"], saved.json()["customMetadata"]) == (0, {"by": "me"})
    client.post(base, json={"filename": "a/b.txt", "artifact": {"inlineData": {"data": data, "mimeType": "image/png"}}})
    assert client.get(base).json() == ["a/b.txt"]
    for name in ("a/b.txt", "a%2Fb.txt"):
        assert client.get(f"{base}/{name}?version=0").json() == {"text": "one"}
        assert client.get(f"{base}/{name}").json() == {"inlineData": {"data": data, "mimeType": "image/png"}}
        assert client.get(f"{base}/{name}/versions").json() == [0, 1]
        assert client.get(f"{base}/{name}/versions/0").json() == {"text": "one"}
        assert client.get(f"{base}/{name}/versions/9").status_code == 404
        assert client.get(f"{base}/{name}/versions/x").status_code == 422
        assert [one["version"] for one in client.get(f"{base}/{name}/versions/metadata").json()] == [0, 1]
        assert client.get(f"{base}/{name}/versions/0/metadata").json()["customMetadata"] == {"by": "me"}
    assert client.delete(f"{base}/a/b.txt").json() is None
    assert client.get(base).json() == []


def test_deleting_a_session_deletes_its_artifacts(serve: Serve) -> None:
    client = serve()
    for _ in range(2):
        client.post(SESSIONS, json={"sessionId": "s"})
        assert client.get(f"{SESSIONS}/s/artifacts").json() == []
        client.post(f"{SESSIONS}/s/artifacts", json={"filename": "a.txt", "artifact": {"text": "one"}})
        client.delete(f"{SESSIONS}/s")


def test_a_session_is_put_into_memory(serve: Serve) -> None:
    client = serve(session_service=InMemorySessionService())
    client.post(SESSIONS, json={"sessionId": "s"})
    assert client.patch("/apps/clerk/users/ann/memory", json={"sessionId": "s"}).json() is None
    assert client.patch("/apps/clerk/users/ann/memory", json={"sessionId": "ghost"}).status_code == 404
    assert client.patch("/apps/clerk/users/ann/memory", json={}).status_code == 422


def test_names_that_no_store_holds_are_refused_whatever_brings_them(serve: Serve) -> None:
    client, name, path = serve(), "n" * 900, "/apps/clerk/users/ann/sessions"
    assert client.post(f"{path}/s", json={}).status_code == 200
    said = {"role": "user", "parts": [{"text": "hi"}]}
    run = {"appName": "clerk", "userId": "ann", "sessionId": "s", "newMessage": said, "stateDelta": {name: 1}}
    for method, door, body in (
        ("POST", f"{path}/{name}", {}),
        ("POST", path, {"sessionId": name}),
        ("POST", f"/apps/clerk/users/{name}/sessions", {}),
        ("POST", f"{path}/t", {name: 1}),
        ("PATCH", f"{path}/s", {"stateDelta": {name: 1}}),
        ("POST", "/run", run),
        ("POST", "/run_sse", run),
    ):
        answer = client.request(method, door, json=body)
        assert answer.status_code == 422, (door[:50], answer.text)
        assert "800" in answer.json()["detail"]
    assert client.get(f"{path}/s").json()["events"] == []
