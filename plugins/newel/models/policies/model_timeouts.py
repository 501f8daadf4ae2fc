"""model_timeouts: how long a model may take, to connect, to begin, between chunks and in all; how much it may send."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from pydantic import BaseModel, Field

from newel.models.kinds import ModelCall, ModelPolicy
from newel.models.policies.deadlines import Deadline, DeadlineError
from newel.models.wire.limits import LIMITS, Limits
from newel.models.wire.service import Service
from newel_kernel import BaseLlm, Chains, LlmRequest, LlmResponse, hookimpl

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


async def bounded(
    call: ModelCall, model: BaseLlm, request: LlmRequest, stream: bool, limits: Limits
) -> AsyncGenerator[LlmResponse, None]:
    """The responses, as long as they come in time and are not too large. The HTTP client enforces the other limits."""
    most, chunks = limits.response_bytes, 0
    deadline = Deadline(limits.total)
    try:
        async with aclosing(call(model, request, stream)) as responses:
            while True:
                try:
                    with deadline:
                        response = await anext(responses)
                except StopAsyncIteration:
                    return
                except DeadlineError as error:
                    raise _service(model, request).too_slow(f"no complete answer within {limits.total:g} s") from error
                size = _size(response)
                if response.partial:  # the whole answer after the chunks repeats them
                    chunks += size
                if size > most or chunks > most:
                    raise _service(model, request).too_large(most)
                yield response
    finally:
        deadline.close()


def _service(model: BaseLlm, request: LlmRequest) -> Service:
    return Service(getattr(model, "provider", type(model).__name__), request.model or model.model)


def _size(response: LlmResponse) -> int:
    """About how many bytes a response takes; an empty one counts too, since a stream of them may be endless."""
    content = response.content
    parts = (content.parts or ()) if content is not None else ()
    if len(parts) == 1 and (text := parts[0].text) is not None:  # most chunks
        return _LEAST + len(text)
    size = _LEAST
    for part in parts:
        if part.text is not None:
            size += len(part.text)
        elif part.function_call is not None:  # by its texts alone: arguments may be nested without end
            args = part.function_call.args
            texts = args.values() if isinstance(args, dict) else ()
            size += _LEAST + sum(len(text) for text in texts if isinstance(text, str))
        elif part.inline_data is not None:
            size += len(part.inline_data.data or b"")
    return size


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_model_call_policies(settings: Mapping[str, Settings]) -> list[ModelPolicy]:
    """The policy `model_timeouts`."""
    options = settings["model_timeouts"]
    limits = Limits(options.connect, options.idle, options.total, options.response_bytes)

    def wrap(call: ModelCall, chains: Chains) -> ModelCall:
        def ask(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
            request.stash[LIMITS] = limits
            return bounded(call, model, request, stream, limits.for_call(request.config))

        return ask

    return [ModelPolicy(name="model_timeouts", wrap=wrap, after=("model_retries", "model_traffic"), everywhere=True)]
