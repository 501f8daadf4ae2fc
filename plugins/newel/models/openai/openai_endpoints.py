"""The plugin of servers that speak OpenAI's protocol: ``ollama:``, ``vllm:``, ``openrouter:``, and others by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, field_validator

from newel.models import openai
from newel.models.kinds import ModelProvider
from newel_kernel import hookimpl
from newel_types import deferred

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm
    from newel.models.openai.profiles import Profile

_BUILT_IN = {
    "ollama": "Ollama on this machine",
    "vllm": "vLLM's server",
    "openrouter": "OpenRouter",
}

_profile_of = deferred("newel.models.openai.profiles", "profile_of")


class Settings(BaseModel, extra="forbid", defer_build=True):
    """The endpoints by name: fields of `Profile`, and ``like: NAME`` to start from another endpoint.

    The fields change an endpoint that is known (``ollama``); any other one is added, and needs a ``base_url``.
    """

    #: Endpoint -> the fields of its profile.
    endpoints: dict[str, dict[str, Any]] = {}

    @field_validator("endpoints")
    @classmethod
    def _complete(cls, endpoints: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for name, fields in endpoints.items():
            _profile(name, fields)
        return endpoints


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_model_providers(settings: Mapping[str, Settings]) -> list[ModelProvider]:
    """One provider for each endpoint; the SDK loads at the first call."""
    built_in: dict[str, dict[str, Any]] = {name: {} for name in _BUILT_IN}
    endpoints = {**built_in, **settings["openai_endpoints"].endpoints}
    return [
        ModelProvider(
            name=name,
            create=partial(_create, name, partial(_profile, name, fields)),
            description=f"{_BUILT_IN.get(name, name)}, through Chat Completions",
        )
        for name, fields in endpoints.items()
    ]


def _create(endpoint: str, profile: Callable[[], Profile], address: str) -> BaseLlm:
    model = openai.model_of(endpoint, profile(), address.removeprefix(f"{endpoint}:"))
    return model


def _profile(name: str, fields: Mapping[str, Any]) -> Profile:
    profile: Profile = _profile_of()(name, fields)
    return profile
