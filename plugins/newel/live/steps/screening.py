"""screening: `before_model` callbacks see what the user says, `after_model` callbacks what the model says.

Their answer is yielded and stored in place of the model's, and ends the turn. What the user typed is then not sent;
what was spoken has reached the service already, so its session is started again.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from newel.live.queue import LiveRequest
from newel_kernel import Event, LlmResponse, answer_event, model_round
from newel_types import Content, Part, SharedContents, Transcription

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.kinds import InStep, Outgoing, OutStep


def make_out(session: LiveSession) -> OutStep | None:
    """The step for what the user types."""
    if session.ctx.round_of("before_model_callback") is None:
        return None

    def step(request: Outgoing) -> Outgoing | Coroutine[Any, Any, Outgoing | None]:
        if not isinstance(request, LiveRequest) or request.content is None or _only_results(request.content):
            return request
        return screen(request, request.content)

    async def screen(request: LiveRequest, content: Content) -> LiveRequest | None:
        blocked = await _screened(session, content)
        if blocked is None:
            return request
        session.spawn(session.emit(blocked), "answer in place of the model's")
        return None

    return step


def make_in(session: LiveSession) -> InStep | None:
    """The step for what is spoken."""
    hears = session.ctx.round_of("before_model_callback") is not None
    speaks = session.ctx.round_of("after_model_callback") is not None
    if not hears and not speaks:
        return None
    transcript = ""

    def step(response: LlmResponse) -> Coroutine[Any, Any, Sequence[Event]] | None:
        nonlocal transcript
        if response.turn_complete or response.interrupted:
            transcript = ""
        output, input_ = response.output_transcription, response.input_transcription
        if speaks and output is not None:
            transcript = "" if output.finished else transcript + (output.text or "")
            return _after_output(session, response, transcript) if transcript else None
        if hears and input_ is not None and input_.finished and input_.text:
            return _after_input(session, response, input_.text)
        return None

    return step


async def _after_output(session: LiveSession, response: LlmResponse, transcript: str) -> Sequence[Event]:
    view = response.model_copy(update={"output_transcription": Transcription(text=transcript, finished=False)})
    answer = await model_round(session.ctx, session.draft, "after_model_callback", {"llm_response": view})
    if answer is None:
        return ()
    session.restart(_in_place(session, answer))
    return ()


async def _after_input(session: LiveSession, response: LlmResponse, text: str) -> Sequence[Event]:
    blocked = await _screened(session, Content(role="user", parts=[Part(text=text)]))
    if blocked is None:
        return ()
    session.restart(blocked)
    event = session.event(author="user", input_transcription=response.input_transcription, partial=response.partial)
    return (event,)


async def _screened(session: LiveSession, content: Content) -> Event | None:
    """What `before_model` callbacks answer to `content`, as an event that ends the turn; None: it may be sent."""
    request = session.request.model_copy()
    request.contents = SharedContents([content])
    answer = await model_round(session.ctx, session.draft, "before_model_callback", {"llm_request": request})
    return None if answer is None else _in_place(session, answer)


def _in_place(session: LiveSession, answer: LlmResponse) -> Event:
    answer = answer.model_copy(update={"turn_complete": True, "partial": None})
    return answer_event(session.ctx, session.request, answer, session.draft)[0]


def _only_results(content: Content) -> bool:
    return bool(content.parts) and all(part.function_response is not None for part in content.parts or ())
