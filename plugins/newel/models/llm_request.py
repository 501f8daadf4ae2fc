"""LlmRequest, with the released names of what is passed on to Gemini."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from newel.models.google.request_keys import CACHE_CONFIG, CACHE_METADATA, CACHEABLE_TOKENS, PREVIOUS_INTERACTION
from newel_kernel import BaseTool, Key
from newel_kernel import LlmRequest as KernelLlmRequest

if TYPE_CHECKING:
    from newel.models.google.context_cache_config import ContextCacheConfig
    from newel_types import CacheMetadata, Content, GenerateContentConfig, LiveConnectConfig

__all__ = ["LlmRequest"]

T = TypeVar("T")


class _Stashed(Generic[T]):
    """An attribute whose value is in the request's stash; None where it has none."""

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
        super().__init__(model, contents, config, live_connect_config, tools_dict)
        if cache_config is not None:
            self.cache_config = cache_config
        if cache_metadata is not None:
            self.cache_metadata = cache_metadata
        if cacheable_contents_token_count is not None:
            self.cacheable_contents_token_count = cacheable_contents_token_count
        if previous_interaction_id is not None:
            self.previous_interaction_id = previous_interaction_id
