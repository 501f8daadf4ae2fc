"""Checks of what an event keeps: every field, the stored form of values, times, and what partial events leave."""

from __future__ import annotations

from typing import Any

from newel.testing.sessions.place import Place, refused, reread, same, text_event, texts, wrote
from newel_kernel import Event, GetSessionConfig, Json, SessionError
from newel_types import Content, FunctionCall, Part

#: A value of each field of an event, in its JSON form; but of `partial`, `actions`, `id` and `author`.
EVENT_FIELDS: Json = {
    "content": {
        "role": "model",
        "parts": [
            {"text": "a"},
            {"text": "why", "thought": True, "thoughtSignature": "AP8="},
            {"inlineData": {"mimeType": "x/y", "data": "AAEC_w==", "displayName": "d"}},
            {"fileData": {"fileUri": "gs://b/x", "mimeType": "a/b"}},
            {"functionCall": {"id": "c", "name": "f", "args": {"n": 2**70, "none": None, "l": [1.5, True]}}},
            {"executableCode": {"code": "1", "language": "PYTHON"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        ],
    },
    "model_version": "m-1",
    "grounding_metadata": {"webSearchQueries": ["q"]},
    "turn_complete": False,
    "finish_reason": "MAX_TOKENS",
    "error_code": "E",
    "error_message": "broken",
    "interrupted": False,
    "custom_metadata": {"a": [None, {"b": 2**70}], "": 0.1 + 0.2},
    "usage_metadata": {"promptTokenCount": 1, "candidatesTokenCount": 0},
    "live_session_resumption_update": {"newHandle": "h", "resumable": True},
    "live_session_id": "l",
    "go_away": {"timeLeft": "5s"},
    "input_transcription": {"text": "in", "finished": False},
    "output_transcription": {"text": "out", "finished": True},
    "avg_logprobs": -0.25,
    "logprobs_result": {"chosenCandidates": [{"token": "t", "logProbability": -0.5}]},
    "cache_metadata": {"fingerprint": "f", "contents_count": 2},
    "citation_metadata": {"citations": [{"uri": "u"}]},
    "interaction_id": "x",
    "voice_activity": {"voiceActivityType": "ACTIVITY_START"},
    "tool_call_cancellation": {"ids": ["c"]},
    "invocation_id": "i",
    "output": {"o": [1, None]},
    "node_info": {
        "path": "a/b",
        "output_for": ["c"],
        "message_as_output": True,
        "route": "r",
        "nodes": {"a": {"k": 1}},
    },
    "long_running_tool_ids": ["c"],
    "branch": "a.b",
    "isolation_scope": "s",
    "timestamp": 1234.5678901,
}
#: The same for its actions.
ACTION_FIELDS: Json = {
    "skip_summarization": False,
    "state_delta": {"a": 1, "user:b": [None], "app:c": {"d": "e"}},
    "artifact_delta": {"f": 2},
    "transfer_to_agent": "t",
    "escalate": False,
    "requested_auth_configs": {
        "c": {"authScheme": {"type": "apiKey", "in": "header", "name": "k"}, "credentialKey": "key"}
    },
    "requested_tool_confirmations": {"c": {"hint": "h", "confirmed": False, "payload": {"p": 1}}},
    "compaction": {
        "startTimestamp": 1.5,
        "endTimestamp": 2.5,
        "compactedContent": {"role": "model", "parts": [{"text": "s"}]},
    },
    "end_of_agent": False,
    "agent_state": {"k": [1]},
    "rewind_before_invocation_id": "i",
    "route": ["r"],
    "render_ui_widgets": [{"id": "w", "provider": "p"}],
    "set_model_response": {"m": 1},
}


def _events() -> list[Event]:
    """An event for each field, and one with all of them."""
    fields = [{name: value} for name, value in EVENT_FIELDS.items()]
    fields += [{"actions": {name: value}} for name, value in ACTION_FIELDS.items()]
    fields.append({**EVENT_FIELDS, "actions": ACTION_FIELDS})
    return [Event.model_validate({"author": "agent", "id": f"e{n}", **one}) for n, one in enumerate(fields)]


def _plain(event: Event) -> Json:
    return event.model_dump(mode="json", exclude_none=True)


async def every_field_of_an_event_comes_back(place: Place) -> None:
    """Whatever it is: by a read, a live view, a tail and a fork, and from another service."""
    store = place.service()
    session = await store.create_session(**place.at())
    events = _events()
    expected = {event.id: _plain(event) for event in events}
    for event in events:
        same(_plain(await store.append_event(session, event)), expected[event.id])
    view, fork = await store.open(**place.at()), await store.fork(**place.at(), new_session_id="f")
    assert view is not None
    readers = (await reread(place, store), view, fork)
    tail = await store.tail(**place.at(), after=0)
    for got in (session.events, *(reader.events for reader in readers), tail):
        same([event.id for event in got], list(expected))
        for event in got:
            for field, value in expected[event.id].items():
                found = _plain(event).get(field)
                assert found == value, f"the field {field!r} comes back as {found!r:.200}, not as {value!r:.200}"
            same(sorted(_plain(event)), sorted(expected[event.id]))


async def values_take_their_stored_form(place: Place) -> None:
    """A tuple is a list from then on, in the view as in the store; a value without a stored form is refused."""
    store = place.service()
    session = await store.create_session(**place.at(), state={"first": (1, (2,))})
    same(session.state, {"first": [1, [2]]})
    await store.append_event(session, wrote(a=(1, 2), **{"user:b": {"c": ("d",)}}))
    expected = {"first": [1, [2]], "a": [1, 2], "user:b": {"c": ["d"]}}
    same((session.state, (await reread(place, store)).state), (expected, expected))
    loop: list[Any] = []
    loop.append(loop)
    for value in (object(), loop):
        await refused(store.append_event(session, wrote(bad=value, **{"app:bad": 1})), SessionError)
        await refused(store.create_session(**place.at("new"), state={"bad": value, "app:bad": 1}), SessionError)
    call = Part(function_call=FunctionCall(name="f", args={"a": object()}))
    await refused(store.append_event(session, Event(author="agent", content=Content(parts=[call]))), SessionError)
    got = await reread(place, store)
    same((got.state, len(got.events), await store.get_session(**place.at("new"))), (expected, 1, None))


async def what_was_stored_is_nobodys(place: Place) -> None:
    """Changing what was appended, or what was read, changes neither the store nor another reader's copy."""
    store = place.service()
    session = await store.create_session(**place.at())
    value, metadata = {"l": [1]}, {"m": [1]}
    await store.append_event(session, text_event("x", state={"v": value, "user:v": value}, custom_metadata=metadata))
    value["l"].append(2)
    metadata["m"].append(2)
    first = await store.get_session(**place.at())
    assert first is not None
    first.state["v"]["l"].append(3)
    first.state["user:v"]["l"].append(3)
    first.events.append(text_event("never"))
    got = await reread(place, store)
    same((got.state, texts(got)), ({"v": {"l": [1]}, "user:v": {"l": [1]}}, ["x"]))
    same(got.events[0].custom_metadata, {"m": [1]})
    same(got.events[0].actions.state_delta, {"v": {"l": [1]}, "user:v": {"l": [1]}})


async def a_partial_event_leaves_nothing(place: Place) -> None:
    """It comes back unchanged; neither its text, its state nor its id is stored, in the view or in the store."""
    store = place.service()
    session = await store.create_session(**place.at(), state={"n": 0})
    before = session.last_update_time
    for text in ("a", "ab"):
        chunk = text_event(text, id="chunk", partial=True, timestamp=9e9, state={"n": 1, "user:n": 1, "app:n": 1})
        assert await store.append_event(session, chunk) is chunk, "a partial event is returned unchanged"
    same((texts(session), session.state, session.version), ([], {"n": 0}, 0))
    same(session.last_update_time, before)
    await store.append_event(session, text_event("abc", id="chunk"))
    got = await reread(place, store)
    same((texts(got), got.state, got.version), (["abc"], {"n": 0}, 1))


async def equal_times_keep_their_order(place: Place) -> None:
    """Events of one moment, whatever their ids; a time comes back to its last digit, and a filter includes its time."""
    store = place.service()
    session = await store.create_session(**place.at())
    times = {"z": 5.0, "y": 5.0, "a": 5.0, "m": 5.000001, "b": 5.0, "c": 5.0}
    for name, time in times.items():
        await store.append_event(session, text_event(name, id=name, timestamp=time))
    got = await reread(place, store)
    same([(event.id, event.timestamp) for event in got.events], list(times.items()))
    same((got.last_update_time, session.last_update_time), (5.0, 5.0))
    for config, expected in (
        (GetSessionConfig(after_timestamp=5.0), list(times)),
        (GetSessionConfig(after_timestamp=5.000001), ["m"]),
        (GetSessionConfig(num_recent_events=3), ["m", "b", "c"]),
        (GetSessionConfig(num_recent_events=0), []),
        (GetSessionConfig(num_recent_events=99), list(times)),
    ):
        for read in (store.get_session, store.open):
            same(texts(await read(**place.at(), config=config)), expected)


FIELD_CHECKS = {
    check.__name__: check
    for check in (
        every_field_of_an_event_comes_back,
        values_take_their_stored_form,
        what_was_stored_is_nobodys,
        a_partial_event_leaves_nothing,
        equal_times_keep_their_order,
    )
}
