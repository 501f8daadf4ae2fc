"""model_timeouts: how long a model may take, to connect, to begin, between chunks and in all; how much it may send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from pydantic import BaseModel, Field

from newel.connections.deadlines import Deadline, DeadlineError
from newel.models.kinds import Attempt, ModelPolicy
from newel.models.wire.limits import LIMITS, Limits
from newel.models.wire.service import Service
from newel_kernel import LlmResponse, hookimpl

_DEFAULT = Limits()
_LEAST = 16


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings in seconds and bytes. ``http_options.timeout`` of a request wins over all times."""

    #: Until the connection is made.
    connect: float = Field(default=_DEFAULT.connect, gt=0)
    #: Until the first byte, and between two bytes.
    idle: float = Field(default=_DEFAULT.idle, gt=0)
    #: For the whole answer.
    total: float = Field(default=_DEFAULT.total, gt=0)
    #: The most bytes of one answer.
    response_bytes: int = Field(default=_DEFAULT.response_bytes, gt=0)


class _Bounds(Deadline):
    """What one attempt may still take."""

    __slots__ = ("attempt", "chunks", "limits")

    def __init__(self, limits_of: Callable[[Attempt], Limits], attempt: Attempt) -> None:
        self.limits = limits = limits_of(attempt)
        Deadline.__init__(self, limits.total)  # each model call makes one
        self.attempt = attempt
        #: The bytes of the chunks so far.
        self.chunks = 0


def bounding(limits_of: Callable[[Attempt], Limits]) -> ModelPolicy:
    """The policy: responses must come in time and not be too large. The HTTP client enforces the other limits."""
    return ModelPolicy(
        name="model_timeouts",
        begin=partial(_Bounds, limits_of),
        holds_waits=True,
        response=_whole,
        chunk=_chunk,
        error=_too_slow,
        close=Deadline.close,
        after=("model_retries?", "model_traffic?"),
        everywhere=True,
    )


def _whole(bounds: _Bounds, response: LlmResponse) -> LlmResponse:
    if _size(response) > (most := bounds.limits.response_bytes):  # it repeats the chunks before it
        raise _service(bounds.attempt).too_large(most)
    return response


def _chunk(bounds: _Bounds, response: LlmResponse) -> LlmResponse:
    bounds.chunks = chunks = bounds.chunks + _size(response)
    if chunks > (most := bounds.limits.response_bytes):
        raise _service(bounds.attempt).too_large(most)
    return response


def _too_slow(bounds: _Bounds, error: Exception, begun: bool) -> None:
    if isinstance(error, DeadlineError):
        reason = f"no complete answer within {bounds.limits.total:g} s"
        raise _service(bounds.attempt).too_slow(reason) from error


def _service(attempt: Attempt) -> Service:
    model = attempt.model
    return Service(getattr(model, "provider", type(model).__name__), attempt.request.model or model.model)


def _size(response: LlmResponse) -> int:
    """About how many bytes a response takes; an empty one counts too, since a stream of them may be endless."""
    content = response.content
    if content is None or not (parts := content.parts):
        return _LEAST
    size = _LEAST
    for part in parts:
        if part.text is not None:
            size += len(part.text)
        elif part.function_call is not None:  # by its texts alone: arguments may be nested without end
            args = part.function_call.args
            texts = args.values() if isinstance(args, dict) else ()
            size += _LEAST
            for text in texts:
                if isinstance(text, str):
                    size += len(text)
        elif part.inline_data is not None:
            size += len(part.inline_data.data or b"")
    return size


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_model_call_policies(settings: Mapping[str, Settings]) -> list[ModelPolicy]:
    """The policy `model_timeouts`."""
    options = settings["model_timeouts"]
    limits = Limits(options.connect, options.idle, options.total, options.response_bytes)

    def limits_of(attempt: Attempt) -> Limits:
        request = attempt.request
        request.stash[LIMITS] = limits
        options = request.http_options
        return limits if options is None else limits.for_call(options)

    return [bounding(limits_of)]
