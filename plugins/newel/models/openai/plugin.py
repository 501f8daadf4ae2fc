"""The plugin of OpenAI's models: ``gpt-6.1-terra``, ``openai:NAME``, and ``openai-responses:NAME``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from newel.models import catalogue, openai
from newel.models.kinds import ModelProvider
from newel.models.live import FRAME_BYTES
from newel_kernel import hookimpl

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm

_DEFAULT = catalogue.OPENAI
_PATTERNS = (r"gpt-.*", r"o\d.*", r"chatgpt-.*", r"codex-.*")
_CHAT, _RESPONSES = "openai", "openai-responses"


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of OpenAI. The key is not among them: it comes from OPENAI_API_KEY."""

    #: The model of agents that name none, and of an address without a name.
    default_model: str = _DEFAULT
    #: The API's address; by default that of OPENAI_BASE_URL, or the vendor's.
    base_url: str | None = None
    #: Let the service keep the answers of ``openai-responses:``, so that a turn sends only what is new.
    store: bool = False
    #: The model that transcribes what the user says over a live connection.
    transcription_model: str = "gpt-4o-mini-transcribe"
    #: How many bytes a message of a live connection may have.
    frame_bytes: int = Field(default=FRAME_BYTES, gt=0)

    @property
    def of_models(self) -> dict[str, Any]:
        """The settings that each model has."""
        return self.model_dump(include={"base_url", "transcription_model", "frame_bytes"})


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_model_providers(settings: Mapping[str, Settings]) -> list[ModelProvider]:
    """The schemes ``openai`` and ``openai-responses``; the SDK loads at the first call."""
    options = settings["openai"]

    def chat(address: str) -> BaseLlm:
        name = address.removeprefix(f"{_CHAT}:") or options.default_model
        model = openai.OpenAILlm(model=name, **options.of_models)
        model.check()
        return model

    def responses(address: str) -> BaseLlm:
        name = address.removeprefix(f"{_RESPONSES}:") or options.default_model
        model = openai.OpenAIResponsesLlm(model=name, store=options.store, **options.of_models)
        model.check()
        return model

    def default() -> str | None:
        return f"{_CHAT}:{options.default_model}" if os.environ.get("OPENAI_API_KEY", "").strip() else None

    return [
        ModelProvider(
            name=_CHAT,
            create=chat,
            patterns=_PATTERNS,
            default=default,
            description="OpenAI through Chat Completions, with the openai SDK",
        ),
        ModelProvider(
            name=_RESPONSES, create=responses, description="OpenAI through the Responses API, with the openai SDK"
        ),
    ]
