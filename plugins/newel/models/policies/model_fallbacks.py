"""model_fallbacks: another model answers if one fails before anything was shown."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from newel.models.kinds import Attempt, ModelPolicy, Retry
from newel_kernel import ModelError, hookimpl

logger = logging.getLogger(__name__)

#: Codes of errors that another model would answer with as well.
_OWN_FAULT = frozenset((400, 413, 422, "UNSUPPORTED"))


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of fallbacks."""

    #: A model's address or name -> the addresses of the models that answer in its place, in this order.
    models: dict[str, list[str]] = Field(default_factory=dict)


class _Others:
    """The models that may still answer in a failed one's place."""

    __slots__ = ("failing", "left")

    def __init__(self, first: str, addresses: Sequence[str]) -> None:
        #: The name or address of the model that is asked.
        self.failing = first
        self.left = list(addresses)


def _next(others: _Others, error: Exception, begun: bool) -> Retry | None:
    if begun or not others.left or not isinstance(error, ModelError) or not _helps(error):
        return None
    address = others.left.pop(0)
    reason = getattr(error, "reason", None) or error  # that of a budget names no account, which names a person
    logger.warning("%s answers instead of %s, which failed: %s", address, others.failing, reason)
    others.failing = address
    return Retry(model=address)


def _helps(error: ModelError) -> bool:
    """Whether another model may answer; an error can say so itself, as that of a budget does."""
    return bool(getattr(error, "other_model_helps", error.code not in _OWN_FAULT))


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_model_call_policies(settings: Mapping[str, Settings]) -> list[ModelPolicy]:
    """The policy `model_fallbacks`."""
    models = settings["model_fallbacks"].models

    def begin(attempt: Attempt) -> _Others | None:
        name = attempt.request.model or attempt.model.model
        others = models.get(name) or models.get(f"{getattr(attempt.model, 'provider', '')}:{name}")
        return _Others(attempt.model.model, others) if others else None

    policy = ModelPolicy(name="model_fallbacks", begin=begin, error=_next, after=("model_costs?",))
    return [policy if models else ModelPolicy(name="model_fallbacks", after=("model_costs?",))]
