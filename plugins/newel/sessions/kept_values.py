"""What the store in memory keeps: the values that a durable store would give back, and none of its caller's objects.

`stored.encoding` says which those are, and what is refused. Most events hold texts alone, or values that JSON does not
change; they take a shorter way here, because a turn in memory passes through it several times.
"""

from __future__ import annotations

from operator import attrgetter

from pydantic_core import PydanticSerializationError, from_json, to_json

from newel.sessions.stored.encoding import encode_event
from newel_kernel import Event, EventActions, Json
from newel_types import Content, FunctionCall, FunctionResponse, Part

_NO_SPARSE, _NO_RARE = Event.no_sparse, Part.no_sparse
_tables_of = attrgetter("artifact_delta", "requested_auth_configs", "requested_tool_confirmations")
_values_of = attrgetter("compaction", "agent_state", "route", "render_ui_widgets", "set_model_response")
_NOTHING = (None,) * 5


class _ChangedError(Exception):
    """JSON would change a value, or has no form for it."""


def kept_event(event: Event) -> Event:
    """The event to keep: `event` itself, if nothing in it could still be changed.

    Calls and results of `event` get values of their own, which are equal. SessionError if it has no stored form.
    """
    if (
        event.output is not None
        or event.custom_metadata is not None
        or event.touched_node_info is not None
        or event.sparse_values is not _NO_SPARSE
    ):
        return encode_event(event).event
    try:
        if event.content is not None:
            _own_values(event.content)
        return event if event.touched_actions is None else _with_own_actions(event)
    except (_ChangedError, PydanticSerializationError, ValueError, TypeError, RecursionError, AttributeError):
        return encode_event(event).event


def _own_values(content: Content) -> None:
    """Give calls and results values of their own; raises an error if the general way must be taken."""
    for part in content.parts or ():
        if part.sparse_values is not _NO_RARE and part.part_metadata is not None:
            raise _ChangedError
        if (text := part.text) is not None:
            if not text.isascii():
                to_json(text)
        elif (call := part.function_call) is not None:
            if call.args:
                if call.__class__ is not FunctionCall:  # frozen, for one
                    raise _ChangedError
                call.args = _own(call.args)
        elif (result := part.function_response) is not None and result.response:
            if result.__class__ is not FunctionResponse:
                raise _ChangedError
            result.response = _own(result.response)


def _own(value: Json) -> Json:
    """An equal value that nobody else has."""
    read: Json = from_json(to_json(value, bytes_mode="base64", inf_nan_mode="constants"))
    if read != value:
        raise _ChangedError
    return read


def _with_own_actions(event: Event) -> Event:
    """The event, or a copy if its actions could still be changed."""
    actions = event.touched_actions
    assert actions is not None
    if actions.__class__ is not EventActions or any(_tables_of(actions)) or _values_of(actions) != _NOTHING:
        raise _ChangedError
    if not actions.state_delta:
        return event
    delta = {key: value for key, value in actions.state_delta.items() if not key.startswith("temp:")}
    copy = event.model_copy()
    copy.actions = actions.model_copy(update={"state_delta": _own(delta) if delta else {}})
    return copy
