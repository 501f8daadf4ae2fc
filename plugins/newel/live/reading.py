"""Reading: which part of a live response becomes an event."""

from __future__ import annotations

from newel_kernel import Event, LlmResponse

#: A response with one of these becomes an event with only that.
_ALONE = ("live_session_resumption_update", "voice_activity", "input_transcription", "output_transcription")
_PLAIN = LlmResponse.no_sparse


def as_response(response: LlmResponse) -> LlmResponse | None:
    """The response as its event has it; None if it says nothing to the consumer."""
    if response.sparse_values is _PLAIN:
        return response if response.content is not None or response.usage_metadata is not None else None
    for name in _ALONE:
        if (value := getattr(response, name)) is not None:
            partial = response.partial if name.endswith("transcription") else None
            return LlmResponse(partial=partial, live_session_id=response.live_session_id, **{name: value})
    if response.go_away is not None or response.tool_call_cancellation is not None:
        response = response.model_copy(update={"go_away": None, "tool_call_cancellation": None})
    fields = (
        response.content,
        response.error_code,
        response.interrupted,
        response.turn_complete,
        response.usage_metadata,
        response.grounding_metadata,
    )
    return response if any(one is not None and one is not False for one in fields) else None


def spoken_by_user(event: Event) -> bool:
    """Whether the event is what the service heard the user say."""
    content = event.content
    return content.role == "user" if content is not None else event.input_transcription is not None
