"""The plugin of Claude models: ``claude-sonnet-5-5``, ``anthropic:NAME``, and resource names of Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from newel.models import anthropic
from newel.models.kinds import ModelProvider
from newel_kernel import hookimpl

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm

PATTERNS = (r"claude-.*", r"projects/.+/publishers/anthropic/models/.+")


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of Claude. The key is not among them: it comes from the environment."""

    #: The API's address; by default that of ANTHROPIC_BASE_URL, or the vendor's.
    base_url: str | None = None
    #: The most tokens of an answer if the request sets no limit.
    max_tokens: int = Field(default=8192, gt=0)
    #: Reach models through Vertex AI; resource names of Vertex AI always are.
    vertexai: bool = False
    #: By model: capabilities that differ from newel's table.
    capabilities: dict[str, dict[str, Any]] = Field(default_factory=dict)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_model_providers(settings: Mapping[str, Settings]) -> list[ModelProvider]:
    """The scheme ``anthropic`` and the names of Claude models; the SDK loads at the first call."""
    options = settings["anthropic"]

    def create(address: str) -> BaseLlm:
        name = address.removeprefix("anthropic:")
        kind = anthropic.Claude if options.vertexai or name.startswith("projects/") else anthropic.AnthropicLlm
        name_field: dict[str, Any] = {"model": name} if name else {}
        model = kind(
            **name_field,
            base_url=options.base_url,
            max_tokens=options.max_tokens,
            capability_overrides=options.capabilities.get(name, {}),
        )
        model.check()
        return model

    return [
        ModelProvider(
            name="anthropic", create=create, patterns=PATTERNS, description="Claude, through the anthropic SDK"
        )
    ]
