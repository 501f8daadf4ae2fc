"""What a developer's page reads besides the released paths: events, summaries, model calls, the composition."""

from __future__ import annotations

from typing import Any

from newel import Agent
from newel.server.options import Options
from newel.testing import ScriptedModel
from newel.types import Content, FunctionCall, GenerateContentResponseUsageMetadata, Part
from newel_kernel import LlmResponse

USER = "/apps/clerk/users/ann/sessions"


def look_up(name: str) -> str:
    """Find a letter."""
    return f"the letter of {name}"


def clerk(*steps: Any) -> Agent:
    return Agent(name="clerk", instruction="Be short.", model=ScriptedModel(steps), tools=[look_up])


def development(serve: Any, *steps: Any) -> Any:
    return serve(agents={"clerk": clerk(*steps)}, options=Options(development=True))


def say(client: Any, session: str, text: str) -> list[Any]:
    message = {"role": "user", "parts": [{"text": text}]}
    body = {"appName": "clerk", "userId": "ann", "sessionId": session, "newMessage": message}
    found: list[Any] = client.post("/run", json=body).raise_for_status().json()
    return found


def test_events_are_read_by_their_numbers(serve):
    client = serve(agents={"clerk": clerk("One.", "Two.")})
    session = client.post(USER, json={"state": {"a": 1}}).json()["id"]
    say(client, session, "first")
    say(client, session, "second")
    whole = client.get(f"{USER}/{session}").json()
    page = client.get(f"{USER}/{session}/events", params={"after": 1, "limit": 2}).json()
    assert page == {"total": 4, "after": 1, "state": {"a": 1}, "events": whole["events"][1:3]}
    assert client.get(f"{USER}/{session}/events", params={"after": 9}).json()["events"] == []
    assert client.get(f"{USER}/{session}/events", params={"after": -1}).status_code == 422
    latest = client.get(f"{USER}/{session}/events", params={"last": 3}).json()
    assert latest == {"total": 4, "after": 1, "state": {"a": 1}, "events": whole["events"][1:]}
    assert client.get(f"{USER}/{session}/events", params={"last": 9}).json() == {
        **latest,
        "after": 0,
        "events": whole["events"],
    }
    assert client.get(f"{USER}/{session}/events", params={"last": 0}).status_code == 422
    assert client.get(f"{USER}/nobody/events").status_code == 404


def test_sessions_are_summed_up_in_a_line(serve):
    client = development(serve, "Good morning.", [FunctionCall(name="look_up", args={"name": "Bo"})], "Here.")
    first, second = (client.post(USER, json={}).json()["id"] for _ in range(2))
    say(client, first, "  Hello\n there  ")
    say(client, second, "A letter for Bo?")
    lines = client.get("/dev/apps/clerk/users/ann/session-summaries").json()
    assert lines["total"] == 2
    assert [(one["id"], one["title"], one["status"], one["events"]) for one in lines["sessions"]] == [
        (second, "A letter for Bo?", "done", 4),
        (first, "Hello there", "done", 2),
    ]
    limited = client.get("/dev/apps/clerk/users/ann/session-summaries", params={"limit": 1, "offset": 1}).json()
    assert [one["id"] for one in limited["sessions"]] == [first]
    for words, expected in (("LOOK_UP", [second]), ("morning", [first]), ("nothing", [])):
        found = client.get("/dev/apps/clerk/users/ann/session-summaries", params={"query": words}).json()
        assert [one["id"] for one in found["sessions"]] == expected
        assert found["total"] == len(expected)


def test_a_failed_run_and_a_title_of_ones_own_are_seen(serve):
    client = development(serve, LlmResponse(error_code="RESOURCE_EXHAUSTED", error_message="used up"))
    named = {"__session_metadata__": {"displayName": "Mine"}}
    session = client.post(USER, json={"state": named}).json()["id"]
    say(client, session, "Hello")
    (line,) = client.get("/dev/apps/clerk/users/ann/session-summaries").json()["sessions"]
    assert (line["title"], line["status"]) == ("Mine", "failed")


def test_each_model_call_has_the_steps_that_made_its_request(serve):
    client = development(serve, [FunctionCall(name="look_up", args={"name": "Bo"})], "Here.")
    session, other = (client.post(USER, json={}).json()["id"] for _ in range(2))
    say(client, session, "A letter for Bo?")
    calls = client.get(f"/dev{USER}/{session}/model-calls").json()
    assert [(one["agent"], one["called"]) for one in calls] == [("clerk", True), ("clerk", True)]
    (step,) = [one for one in calls[0]["steps"] if one["name"] == "instructions"]
    assert (step["plugin"], step["package"]) == ("instructions", "newel")
    assert step["changes"] == [{"op": "add", "path": "/system_instruction", "value": "Be short."}]
    assert client.get(f"/dev{USER}/{other}/model-calls").json() == []


def test_nothing_is_recorded_for_a_server_that_nobody_develops_with(serve):
    client = serve(agents={"clerk": clerk("Hello.")})
    session = client.post(USER, json={}).json()["id"]
    say(client, session, "Hello")
    assert client.get(f"/dev{USER}/{session}/model-calls").status_code == 404


def test_the_composition_names_plugins_and_the_order_of_chains(serve):
    found = development(serve, "Hello.").get("/dev/composition").json()
    assert found["distribution"] == "standard"
    (pairing,) = [one for one in found["plugins"] if one["name"] == "pairing"]
    assert (pairing["state"], pairing["distribution"]) == ("enabled", "newel")
    order = [one["name"] for one in found["chains"]["request_chain"]]
    assert order.index("instructions") < order.index("contents")


def test_sessions_are_found_by_what_happened_in_them(serve, tmp_path):
    failing = LlmResponse(error_code="QUOTA", error_message="The quota is used up.")
    paid = LlmResponse(
        content=Content(role="model", parts=[Part(text="Dear.")]),
        usage_metadata=GenerateContentResponseUsageMetadata.model_validate({"promptTokenCount": 1, "cost": 0.25}),
    )
    called = [FunctionCall(name="look_up", args={"name": "Bo"})]
    for sessions in ("memory:", f"sqlite:///{tmp_path}/s.db"):
        client = serve(
            agents={"clerk": clerk(called, "Here.", failing, paid)},
            options=Options(development=True),
            session_service=sessions,
        )
        ids = [client.post(USER, json={}).json()["id"] for _ in range(3)]
        for id_, text in zip(ids, ("A  letter\nfor Bo?", "Quick!", "What costs much?"), strict=True):
            say(client, id_, text)
        for query, found in (
            ({"query": "LETTER for bo"}, [0]),
            ({"query": "look_up"}, [0]),
            ({"query": "quota is"}, [1]),
            ({"query": "functionCall"}, []),
            ({"tool": "LOOK"}, [0]),
            ({"agent": "clerk"}, [2, 1, 0]),
            ({"agent": "user"}, [2, 1, 0]),
            ({"failed": "true"}, [1]),
            ({"cost_above": "0.2"}, [2]),
            ({"cost_above": "0.25"}, []),
            ({"slower_than": "100"}, []),
            ({"slower_than": "0"}, [2, 1, 0]),
            ({"tool": "look_up", "failed": "true"}, []),
        ):
            asked = client.get("/dev/apps/clerk/users/ann/session-summaries", params=query).json()
            assert ([ids.index(one["id"]) for one in asked["sessions"]], asked["total"]) == (found, len(found)), query
        assert client.get("/dev/apps/clerk/users/ann/session-summaries", params={"cost_above": "-1"}).status_code == 422
