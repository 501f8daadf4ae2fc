"""What an event is made of is validated where it is written."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from newel_kernel import Event, EventActions

VALUES: dict[str, object] = {
    "skip_summarization": True,
    "state_delta": {"k": 1},
    "artifact_delta": {"a": 0},
    "transfer_to_agent": "b",
    "escalate": True,
    "requested_auth_configs": {},
    "requested_tool_confirmations": {"c": {"hint": "sure?"}},
    "compaction": {"start_timestamp": 1.0, "end_timestamp": 2.0, "compacted_content": {"parts": [{"text": "x"}]}},
    "end_of_agent": True,
    "agent_state": {"at": 1},
    "rewind_before_invocation_id": "i",
    "route": "r",
    "render_ui_widgets": [{"id": 1}],
    "set_model_response": {"x": 1},
}


def test_every_field_has_a_value_here() -> None:
    assert VALUES.keys() == set(EventActions.field_names)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("spelt", [str, to_camel], ids=["field", "wire"])
def test_actions_are_made_of_a_dict_by_either_name(name: str, spelt: type[str]) -> None:
    event = Event(author="a", actions={spelt(name): VALUES[name]})
    assert event.actions.__class__ is EventActions
    assert event.model_dump()["actions"][name] == Event(author="a", actions=event.actions).model_dump()["actions"][name]
    assert getattr(event.actions, name) not in (None, [], "")
    assert Event.model_validate_json(event.model_dump_json()) == event
    assert getattr(EventActions(**{spelt(name): VALUES[name]}), name) == VALUES[name]


@pytest.mark.parametrize("actions", [3, "text", [1], {"state_dlta": {}}, {"escalate": {}}, {"state_delta": 5}])
def test_what_cannot_be_actions_is_refused_where_it_is_written(actions: object) -> None:
    with pytest.raises(ValidationError):
        Event(author="a", actions=actions)


def test_a_field_that_is_given_twice_or_unknown_is_refused() -> None:
    with pytest.raises(TypeError):
        EventActions(stateDelta={}, state_delta={})
    with pytest.raises(ValidationError, match="stateDlta"):
        EventActions(stateDlta={}, escalate=True)


def test_the_other_parts_of_an_event_are_made_of_plain_values() -> None:
    event = Event(author="a", node_info={"path": "w/a"}, long_running_tool_ids=["c"])
    assert event.node_info.path == "w/a"
    assert event.long_running_tool_ids == {"c"}
