"""model_fallbacks: another model answers where one fails before anything was shown."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from pydantic import BaseModel, Field

from newel.models.kinds import ModelCall, ModelPolicy, model_of
from newel_kernel import BaseLlm, Chains, LlmRequest, LlmResponse, ModelError, hookimpl

logger = logging.getLogger(__name__)

#: Codes of errors that another model would answer with as well.
_OWN_FAULT = frozenset((400, 413, 422, "UNSUPPORTED"))


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of fallbacks."""

    #: A model's address or name -> the addresses of the models that answer in its place, in this order.
    models: dict[str, list[str]] = Field(default_factory=dict)


async def answered(
    call: ModelCall, chains: Chains, models: list[BaseLlm | str], request: LlmRequest, stream: bool
) -> AsyncGenerator[LlmResponse, None]:
    """The responses of the first model that answers, or the last one's error."""
    for number, one in enumerate(models):
        model = model_of(chains, one) if isinstance(one, str) else one
        own = request if number == 0 else request.model_copy(update={"model": model.model})
        began = False
        try:
            async with aclosing(call(model, own, stream)) as responses:
                async for response in responses:
                    began = True
                    yield response
            return
        except ModelError as error:
            if began or error.code in _OWN_FAULT or number == len(models) - 1:
                raise
            logger.warning("%s answers instead of %s, which failed: %s", models[number + 1], model.model, error)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The settings."""
    return Settings


@hookimpl
def register_model_call_policies(settings: Mapping[str, Settings]) -> list[ModelPolicy]:
    """The policy `model_fallbacks`."""
    models = settings["model_fallbacks"].models

    def wrap(call: ModelCall, chains: Chains) -> ModelCall:
        def ask(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
            name = request.model or model.model
            others = models.get(name) or models.get(f"{getattr(model, 'provider', '')}:{name}")
            if not others:
                return call(model, request, stream)
            return answered(call, chains, [model, *others], request, stream)

        return ask

    return [ModelPolicy(name="model_fallbacks", wrap=wrap, after=("model_costs",))]
