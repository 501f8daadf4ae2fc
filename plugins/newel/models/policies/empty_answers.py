"""empty_answers: a model that says nothing is an error ``UNKNOWN_ERROR``, not the end of a run that went well."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from newel.models.kinds import ModelCall, ModelPolicy
from newel_kernel import BaseLlm, Chains, LlmRequest, LlmResponse, hookimpl

UNKNOWN_ERROR = "UNKNOWN_ERROR"


async def with_content(
    call: ModelCall, model: BaseLlm, request: LlmRequest, stream: bool
) -> AsyncGenerator[LlmResponse, None]:
    """The responses. If all of them are empty, the last one is an error (docs/reference/behaviour.md#responses)."""
    has_content = False
    empty: LlmResponse | None = None
    async with aclosing(call(model, request, stream)) as responses:
        async for response in responses:
            if (has_content and response.partial) or says(response):
                has_content = True
            elif not response.partial:
                empty = response  # its other fields, such as token counts, are sent at the end
                continue
            yield response
    if not has_content:
        empty = empty or LlmResponse()
        reason = getattr(empty.finish_reason, "value", "none")
        message = (
            f"The model {request.model or model.model} answered with no content and no call; finish reason: {reason}."
        )
        yield empty.model_copy(update={"error_code": UNKNOWN_ERROR, "error_message": message})
    elif empty is not None:
        yield empty


def says(response: LlmResponse) -> bool:
    """Whether a response has content, or says why it has none."""
    content = response.content
    return bool((content is not None and content.parts) or response.error_code or response.interrupted)


@hookimpl
def register_model_call_policies() -> list[ModelPolicy]:
    """The policy `empty_answers`."""

    def wrap(call: ModelCall, chains: Chains) -> ModelCall:
        return lambda model, request, stream: with_content(call, model, request, stream)

    return [ModelPolicy(name="empty_answers", wrap=wrap, before=("model_costs",), everywhere=True)]
