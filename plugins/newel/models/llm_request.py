"""LlmRequest, with the released names of the values passed to Gemini."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from newel.models.google.request_keys import CACHE_CONFIG, CACHE_METADATA, CACHEABLE_TOKENS, PREVIOUS_INTERACTION
from newel.models.live import LIVE_CONFIG
from newel.models.references import append_content
from newel_kernel import BaseTool, Json, Key
from newel_kernel import LlmRequest as KernelLlmRequest
from newel_types import Content, Part, coerce

if TYPE_CHECKING:
    from newel.models.google.context_cache_config import ContextCacheConfig
    from newel_types import CacheMetadata, GenerateContentConfig, LiveConnectConfig

__all__ = ["LlmRequest"]

T = TypeVar("T")


class _Stashed(Generic[T]):
    """An attribute whose value is in the request's stash; None if it is not set."""

    def __init__(self, key: Key[T | None]) -> None:
        self._key = key

    def __get__(self, request: KernelLlmRequest, owner: type[KernelLlmRequest] | None = None) -> T | None:
        return request.stash.get(self._key, None)

    def __set__(self, request: KernelLlmRequest, value: T | None) -> None:
        request.stash[self._key] = value


class LlmRequest(KernelLlmRequest):
    """The model's name, the conversation, the configuration and the tools of one model call."""

    __slots__ = ()

    cache_config = _Stashed(CACHE_CONFIG)
    cache_metadata = _Stashed(CACHE_METADATA)
    cacheable_contents_token_count = _Stashed(CACHEABLE_TOKENS)
    previous_interaction_id = _Stashed(PREVIOUS_INTERACTION)

    def __init__(
        self,
        model: str | None = None,
        contents: list[Content] | None = None,
        config: GenerateContentConfig | None = None,
        live_connect_config: LiveConnectConfig | None = None,
        tools_dict: dict[str, BaseTool] | None = None,
        cache_config: ContextCacheConfig | None = None,
        cache_metadata: CacheMetadata | None = None,
        cacheable_contents_token_count: int | None = None,
        previous_interaction_id: str | None = None,
    ) -> None:
        KernelLlmRequest.__init__(self, model, contents, config, tools_dict)  # each model call makes one
        if live_connect_config is not None:
            self.live_connect_config = live_connect_config
        if cache_config is not None:
            self.cache_config = cache_config
        if cache_metadata is not None:
            self.cache_metadata = cache_metadata
        if cacheable_contents_token_count is not None:
            self.cacheable_contents_token_count = cacheable_contents_token_count
        if previous_interaction_id is not None:
            self.previous_interaction_id = previous_interaction_id

    @property
    def live_connect_config(self) -> LiveConnectConfig:
        """The configuration of a live connection, made on first access."""
        return self.stash[LIVE_CONFIG]

    @live_connect_config.setter
    def live_connect_config(self, value: LiveConnectConfig) -> None:
        self.stash[LIVE_CONFIG] = value

    @overload
    def append_instructions(self, instructions: Sequence[object]) -> None: ...
    @overload
    def append_instructions(self, instructions: Content | Part) -> list[Content]: ...
    def append_instructions(self, instructions: Sequence[object] | Content | Part) -> list[Content] | None:
        """Add to the system instruction after a blank line; for a Content see `references.append_content`."""
        if hasattr(instructions, "model_dump"):
            return append_content(self, coerce(Content, instructions))
        super().append_instructions(instructions)
        return []

    def set_output_schema(self, base_model: Any) -> None:
        """Ask for JSON of the given schema (a pydantic class, a type or a schema)."""
        self.config.response_schema = base_model
        self.config.response_mime_type = "application/json"

    def model_dump(self, *, mode: Literal["python", "json"] = "python", **options: Any) -> Json:
        """A dict of the request without its tool objects."""
        options.pop("exclude", None)
        contents = [content.model_dump(mode=mode, **options) for content in list.copy(self.contents)]
        config = self.config.model_dump(mode=mode, exclude={"response_schema"}, **options)
        return {"model": self.model, "contents": contents, "config": config}
