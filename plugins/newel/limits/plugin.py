"""limits: how many runs a tenant has at a time, and how often models are called, over all processes of a store."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from newel.limits import kinds
from newel.limits.kinds import LimitBackend
from newel.limits.settings import Settings
from newel.models.kinds import ModelPolicy
from newel_kernel import Descriptor, Kind, RequestProcessor, hookimpl
from newel_types import deferred

#: They load with the first limit.
_policy_of = deferred("newel.limits.calls", "policy_of")
_processor = deferred("newel.limits.calls", "processor")


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """What keeps limits elsewhere than with the sessions."""
    return [Kind(LimitBackend, kinds.register_limit_backends)]


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


def _limits_calls(settings: Settings) -> bool:
    rates = (bounds.calls_per_second for bounds in settings.tenants.values())
    return bool(settings.models) or any(rate is not None for rate in rates)


@hookimpl
def register_model_call_policies(settings: Mapping[str, Settings]) -> list[ModelPolicy]:
    """The policy `limits`, if there are limits of calls."""
    own = settings["limits"]
    return [_policy_of()(own)] if _limits_calls(own) else []


@hookimpl
def register_request_processors(settings: Mapping[str, Settings]) -> list[RequestProcessor]:
    """The processor `limits`, if there are limits of calls."""
    return [_processor()()] if _limits_calls(settings["limits"]) else []
