"""Model calls: how the request of each one came to be, step by step."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from newel.server.calls import Call, endpoint
from newel.server.endpoints.sessions import place
from newel_kernel import Json


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


@endpoint(answer=list[ModelCallAnswer])
async def list_model_calls(call: Call) -> object:
    """The recent model calls of a session's runs at this process: each request before and after every step.

    The first call of an agent in an invocation made its first event with content there, and so on.
    """
    calls = call.server.calls
    found: list[Any] = calls.of_session(place(call)) if calls is not None else []
    return found
