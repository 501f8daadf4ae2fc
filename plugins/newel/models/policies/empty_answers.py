"""empty_answers: a model that says nothing is an error ``UNKNOWN_ERROR``, not the end of a run that went well.

Nor is it if all that a model says are thoughts: they stay, and the error follows them.
"""

from __future__ import annotations

from newel.models.kinds import Attempt, ModelPolicy
from newel_kernel import LlmResponse, hookimpl
from newel_types import FinishReason

UNKNOWN_ERROR = "UNKNOWN_ERROR"


class _Said:
    """What a model has said in one attempt."""

    __slots__ = ("attempt", "content", "empty", "shown")

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.content = False
        #: Whether a response was more than thoughts; None: there was none.
        self.shown: bool | None = None
        #: The last whole response without content; its other fields, such as token counts, are sent at the end.
        self.empty: LlmResponse | None = None


def _whole(said: _Said, response: LlmResponse) -> LlmResponse | None:
    if not says(response):
        said.empty = response
        return None
    said.content = True
    if response.finish_reason is not None:
        response = _explained(response)
    if not said.shown:
        said.shown = _shows(response)
    return response


def _chunk(said: _Said, response: LlmResponse) -> LlmResponse:
    if not said.content:
        said.content = says(response)
    return response


def _explained(response: LlmResponse) -> LlmResponse:
    """Thoughts alone that the service stopped are an error: the user would see nothing, and not why."""
    reason = response.finish_reason
    if reason is FinishReason.STOP or _shows(response):
        return response
    code = str(getattr(reason, "value", reason))
    message = response.error_message or f"the answer is cut: the service stopped it ({code})"
    return response.model_copy(update={"error_code": code, "error_message": message})


def _end(said: _Said) -> LlmResponse | None:
    """The response that was kept back; an error if all of them are empty (docs/reference/behaviour.md#responses)."""
    if said.content and said.shown is not False:
        return said.empty
    empty, attempt = said.empty or LlmResponse(), said.attempt
    name = attempt.request.model or attempt.model.model
    reason = getattr(empty.finish_reason, "value", "none")
    what = "thoughts alone" if said.content else f"no content and no call; finish reason: {reason}"
    message = f"The model {name} answered with {what}."
    return empty.model_copy(update={"error_code": UNKNOWN_ERROR, "error_message": message})


def _shows(response: LlmResponse) -> bool:
    """Whether a response has more than thoughts, or says why not."""
    parts = response.content.parts if response.content is not None else None
    if not parts or not parts[-1].thought or response.error_code or response.interrupted:
        return True
    return not all(part.thought for part in parts)


def says(response: LlmResponse) -> bool:
    """Whether a response has content, or says why it has none."""
    content = response.content
    if content is not None and content.parts:
        return True
    return bool(response.error_code or response.interrupted)


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
