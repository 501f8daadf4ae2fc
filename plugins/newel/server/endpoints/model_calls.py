"""Model calls: how the request of each one came to be, step by step."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from newel.contexts.usages import noted_cost
from newel.explanation.recorder import Answer, Recording
from newel.explanation.replay import Edit, MessageEdit, Replay, replay_of
from newel.server.calls import Call, endpoint
from newel.server.endpoints.sessions import Body, place
from newel.server.refusals import Refusal, logged
from newel_compose import describe_error
from newel_kernel import Json, NewelError
from newel_types import Content, GenerateContentResponseUsageMetadata


class StepAnswer(BaseModel):
    """What one step did to a request: the edits of JSON Patch, each with what was there `before`."""

    kind: str
    name: str
    plugin: str
    package: str
    version: str
    seconds: float
    changes: list[Json]
    events: int = 0
    error: str | None = None
    answered: bool = False


class ModelCallAnswer(BaseModel):
    """A request, before the first step and after the last."""

    #: Counts through the calls of this process.
    number: int
    agent: str
    session_id: str
    invocation_id: str
    branch: str | None
    #: Whether it went to the model.
    called: bool
    seconds: float
    before: Json
    steps: list[StepAnswer]
    after: Json


class After(BaseModel):
    """Which calls are asked for: those with greater numbers, of all invocations or of one."""

    after: int = Field(0, ge=0)
    invocation_id: str | None = None


class MessageChange(Body):
    """How one message, by its place from 0 on, is changed."""

    place: int = Field(ge=0)
    #: Replaces its texts.
    text: str | None = None
    #: Replaces the result of its tool call.
    response: Json | None = None
    removed: bool = False


class NewReplay(Body):
    """How the request of a call is changed; what is left out stays as it was recorded."""

    #: The address of another model.
    model: str | None = Field(None, min_length=1, max_length=300)
    system_instruction: str | None = None
    messages: list[MessageChange] = Field(default_factory=list)
    #: The names of the functions that stay declared.
    tools: list[str] | None = None
    #: Who answers: the model, at its price, or a recorded call with the same request.
    source: Literal["model", "recording"] = "model"


class ReplayAnswer(Body):
    """What the model answered. No tool ran, and nothing was stored."""

    source: Literal["model", "recording"]
    model: str
    content: Json | None = None
    usage_metadata: Json | None = None
    model_version: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    seconds: float
    #: US dollars; None: no price is known. An answer from a recording costs nothing.
    cost: float | None
    #: How often this call was asked again, what that has cost in all, and how many of these have no known price.
    replays: int
    spent: float
    unpriced: int


@endpoint(query=After, answer=list[ModelCallAnswer])
async def list_model_calls(call: Call) -> object:
    """The recent model calls of a session's runs at this process: each request before and after every step.

    The first call of an agent in an invocation made its first event with content there, and so on.
    """
    calls = call.server.calls
    asked = call.query
    found: list[Any] = calls.of_session(place(call), asked.after, asked.invocation_id) if calls is not None else []
    return found


@endpoint(body=NewReplay, answer=ReplayAnswer)
async def replay_model_call(call: Call) -> object:
    """Ask the model of a recorded call again, with an edited request. The session stays unchanged, and no tool runs."""
    calls, number = call.server.calls, call.path["number"]
    found = calls.find(place(call), int(number)) if calls is not None and number.isdecimal() else None
    if calls is None or found is None:
        raise Refusal(404, "The call is not recorded: this process has another run's, or has made 200 calls since")
    replay = _replay(found, call.body)
    if call.body.source == "model":
        return _answered(found, replay, await _asked(call, replay), "model")
    answer = replay.recorded(calls.all_of(place(call)))
    if answer is None:
        raise Refusal(409, "No recorded call has this request: ask the model")
    return _answered(found, replay, answer, "recording")


def _replay(recording: Recording, body: NewReplay) -> Replay:
    changes = [MessageEdit(**one.model_dump()) for one in body.messages]
    edit = Edit(model=body.model, system_instruction=body.system_instruction, messages=changes, tools=body.tools)
    try:
        return replay_of(recording, edit)
    except NewelError as error:
        raise Refusal(422, str(error)) from None


async def _asked(call: Call, replay: Replay) -> Answer:
    try:
        return await replay.ask()
    except Exception as error:  # a model's failure has many types
        options = call.server.options
        text = describe_error(error) if options.is_local else f"the log has the cause: {logged(error)['ref']}"
        raise Refusal(502, f"the model {replay.model.model!r} did not answer: {text}") from error


def _answered(
    recording: Recording, replay: Replay, answer: Answer, source: Literal["model", "recording"]
) -> ReplayAnswer:
    costs = [noted_cost(one.response.usage_metadata) for one in recording.replays]
    response, usage = answer.response, answer.response.usage_metadata
    return ReplayAnswer(
        source=source,
        model=replay.model.model,
        content=_plain(response.content),
        usage_metadata=_plain(usage),
        model_version=response.model_version,
        error_code=response.error_code,
        error_message=response.error_message,
        seconds=answer.seconds,
        cost=noted_cost(usage) if source == "model" else 0.0,
        replays=len(costs),
        spent=sum(one for one in costs if one is not None),
        unpriced=costs.count(None),
    )


def _plain(value: Content | GenerateContentResponseUsageMetadata | None) -> Json | None:
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if value is not None else None
