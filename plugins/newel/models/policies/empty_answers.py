"""empty_answers: a model that says nothing is an error ``UNKNOWN_ERROR``, not the end of a run that went well."""

from __future__ import annotations

from newel.models.kinds import Attempt, ModelPolicy
from newel_kernel import LlmResponse, hookimpl
from newel_types import FinishReason

UNKNOWN_ERROR = "UNKNOWN_ERROR"


class _Said:
    """What a model has said in one attempt."""

    __slots__ = ("attempt", "content", "empty")

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.content = False
        #: The last whole response without content; its other fields, such as token counts, are sent at the end.
        self.empty: LlmResponse | None = None


def _whole(said: _Said, response: LlmResponse) -> LlmResponse | None:
    if says(response):
        said.content = True
        return _explained(response)
    said.empty = response
    return None


def _chunk(said: _Said, response: LlmResponse) -> LlmResponse:
    if not said.content:
        said.content = says(response)
    return response


def _explained(response: LlmResponse) -> LlmResponse:
    """Thoughts alone that the service stopped are an error: the user would see nothing, and not why."""
    reason, parts = response.finish_reason, response.content.parts or () if response.content is not None else ()
    if reason in (None, FinishReason.STOP) or response.error_code or any(not part.thought for part in parts):
        return response
    code = str(getattr(reason, "value", reason))
    message = response.error_message or f"the answer is cut: the service stopped it ({code})"
    return response.model_copy(update={"error_code": code, "error_message": message})


def _end(said: _Said) -> LlmResponse | None:
    """The response that was kept back; an error if all of them are empty (docs/reference/behaviour.md#responses)."""
    if said.content:
        return said.empty
    empty, attempt = said.empty or LlmResponse(), said.attempt
    name = attempt.request.model or attempt.model.model
    reason = getattr(empty.finish_reason, "value", "none")
    message = f"The model {name} answered with no content and no call; finish reason: {reason}."
    return empty.model_copy(update={"error_code": UNKNOWN_ERROR, "error_message": message})


def says(response: LlmResponse) -> bool:
    """Whether a response has content, or says why it has none."""
    content = response.content
    return bool((content is not None and content.parts) or response.error_code or response.interrupted)


@hookimpl
def register_model_call_policies() -> list[ModelPolicy]:
    """The policy `empty_answers`."""
    return [
        ModelPolicy(
            name="empty_answers",
            begin=_Said,
            response=_whole,
            chunk=_chunk,
            end=_end,
            before=("model_errors?", "model_costs?"),
            everywhere=True,
        )
    ]
