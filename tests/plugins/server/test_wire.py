"""Events as the server writes them: google-adk's JSON, whatever an event holds."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from newel import Agent
from newel.agents import SequentialAgent
from newel.server.wire import Wire
from newel.types import Content, FunctionCall, FunctionResponse, GenerateContentResponseUsageMetadata, Part
from newel_kernel import Event, EventActions, NodeInfo, freeze_event

TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
PARTS = st.one_of(
    st.builds(lambda text: Part(text=text), TEXTS),
    st.builds(lambda text: Part(text=text, thought=True), TEXTS),
    st.builds(lambda name: Part(function_call=FunctionCall(id="c", name=name, args={"a": [1, None]})), TEXTS),
    st.builds(lambda text: Part(function_response=FunctionResponse(id="c", name="f", response={"r": text})), TEXTS),
    st.builds(lambda data: Part.from_bytes(data=data, mime_type="image/png"), st.binary(max_size=8)),
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "content": st.builds(lambda parts: Content(role="model", parts=parts), st.lists(PARTS, max_size=3)),
    "partial": st.booleans(),
    "usage_metadata": st.builds(
        lambda n: GenerateContentResponseUsageMetadata(prompt_token_count=n), st.integers(0, 9)
    ),
    "actions": st.builds(lambda text: EventActions(state_delta={"a": text}, artifact_delta={"f": 0}), TEXTS),
    "node_info": st.builds(lambda text: NodeInfo(path=text, nodes={"x": {"status": 1}}), TEXTS),
    "branch": TEXTS,
    "long_running_tool_ids": st.sets(TEXTS, max_size=2),
    "model_version": TEXTS,
    "error_code": TEXTS,
    "turn_complete": st.booleans(),
    "custom_metadata": st.dictionaries(TEXTS, st.none() | TEXTS, max_size=2),
    "output": st.none() | TEXTS | st.lists(st.integers(), max_size=2),
    "invocation_id": TEXTS,
}
AGENT = Agent(name="chat", model="echo:", sub_agents=[Agent(name="helper", model="echo:")])


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, none of whose keys stands twice."""
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)


@given(st.fixed_dictionaries({}, optional=FIELDS), st.sampled_from(["chat", "helper", "user"]), st.booleans())
def test_an_event_is_written_as_it_dumps_itself(fields: dict[str, Any], author: str, is_frozen: bool) -> None:
    event = Event(author=author, **fields)
    expected = json.loads(event.model_copy().model_dump_json(by_alias=True, exclude_none=True))
    if is_frozen:
        freeze_event(event)
    written = json.loads(Wire().event(event), object_pairs_hook=once)
    for name in ("nodeInfo", "longRunningToolIds"):
        dumped, shown = expected.pop(name, None), written.pop(name, None)
        if name == "nodeInfo":
            assert shown is None if event.touched_node_info is None else shown == {"path": dumped["path"]}
        else:
            assert sorted(dumped or ()) == sorted(shown or ())
    assert written == expected
    placed = json.loads(Wire(AGENT).event(event), object_pairs_hook=once)["nodeInfo"]
    if event.touched_node_info is None:
        assert placed["path"] == {"chat": "chat@1", "helper": "chat@1/helper@1", "user": ""}[author]


def test_unknown_fields_are_written_too() -> None:
    event = Event.model_validate({"author": "chat", "fresh": {"a": 1}})
    assert json.loads(Wire().event(event), object_pairs_hook=once)["fresh"] == {"a": 1}
    part = Event.model_validate({"author": "chat", "content": {"role": "model", "parts": [{"text": "a", "fresh": 1}]}})
    assert json.loads(Wire().event(part))["content"]["parts"][0]["fresh"] == 1


def test_composite_agents_have_no_place() -> None:
    root = SequentialAgent(name="both", sub_agents=[Agent(name="first", model="echo:")])
    assert json.loads(Wire(root).event(Event(author="first")))["nodeInfo"] == {"path": ""}


def test_credentials_are_written_without_their_secrets() -> None:
    config = {
        "authScheme": {"type": "apiKey", "in": "header", "name": "x"},
        "rawAuthCredential": {"authType": "oauth2", "oauth2": {"clientId": "cid", "clientSecret": "hunter2"}},
        "exchangedAuthCredential": {"authType": "oauth2", "oauth2": {"accessToken": "hunter2", "authUri": "https://x"}},
    }
    args = {"functionCallId": "c", "authConfig": config}
    parts = [
        {"functionCall": {"id": "1", "name": "adk_request_credential", "args": args}},
        {"functionResponse": {"id": "1", "name": "adk_request_credential", "response": config}},
    ]
    actions = {"requestedAuthConfigs": {"c": config}}
    event = Event.model_validate({"author": "chat", "content": {"role": "user", "parts": parts}, "actions": actions})
    written = Wire().event(freeze_event(event)).decode()
    assert "hunter2" not in written
    assert written.count("https://x") == 3
    assert written.count('"cid"') == 3
    assert "hunter2" in event.model_dump_json()
