"""GeminiContextCacheManager: caches at the service for the unchanging start of requests.

A cache holds the system instruction, the tools and the contents before the user's latest message. It is made once a
request shows that this start stayed the same, and is used until it expires, has served `cache_intervals` invocations,
or the start changes. Its `CacheMetadata` travels on the responses, and so in the session.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from newel.models.capabilities import capabilities_of, fact_of
from newel.models.google import requests
from newel.models.google.context_cache_config import ContextCacheConfig
from newel.models.google.history import Dialect
from newel.models.google.request_keys import CACHE_CONFIG, CACHE_GAP, CACHE_METADATA, CACHEABLE_TOKENS, CACHED_CONTENTS
from newel.models.google.sdk import Cache, Json, Sdk
from newel_kernel import LlmRequest, LlmResponse, seam
from newel_types import CacheMetadata, Content

logger = logging.getLogger(__name__)

_CHARACTERS_PER_TOKEN = 4
#: For how long the service keeps by itself what a request began with, in seconds.
_BY_ITSELF = 300
#: What an hour of a stored token costs, and what reading it saves, in prices of a token that is sent.
_STORAGE, _SAVING = 4.0, 0.9
#: The statuses of the service's answer to a request whose cache is gone.
_NOT_THERE = (400, 403, 404)

Responses = AsyncGenerator[LlmResponse, None]


class GeminiContextCacheManager:
    """Makes, uses and deletes the caches of one client of the google-genai SDK."""

    def __init__(self, genai_client: Sdk) -> None:
        self.genai_client = genai_client

    async def handle_context_caching(self, llm_request: LlmRequest) -> CacheMetadata | None:
        """Let `llm_request` use a cache, if one exists or can be made; the request is changed in place.

        Returns the metadata for its response (`populate_cache_metadata_in_response`); None if the request is not
        to be cached, or names a cache of its own in ``config.cached_content``.
        """
        settings = llm_request.stash.get(CACHE_CONFIG, None)
        if settings is None or llm_request.config.cached_content:
            return None
        last = llm_request.stash.get(CACHE_METADATA, None)
        fits = last is not None and self._fingerprint(llm_request, last.contents_count) == last.fingerprint
        if last is not None and last.cache_name is not None:
            if fits and _is_usable(last, settings.cache_intervals):
                _apply(llm_request, last)
                return last
            await self.cleanup_cache(last.cache_name)
        count = _stable_count(llm_request.contents)
        if last is not None and fits and _pays(llm_request, settings):  # the same start once more
            count = max(count, last.contents_count)
            metadata = await self._create(llm_request, count, settings)
            if metadata is not None:
                _apply(llm_request, metadata)
                return metadata
        return CacheMetadata(fingerprint=self._fingerprint(llm_request, count), contents_count=count)

    def populate_cache_metadata_in_response(self, llm_response: LlmResponse, cache_metadata: CacheMetadata) -> None:
        """Put the metadata of the request's cache on its response."""
        llm_response.cache_metadata = cache_metadata

    async def cleanup_cache(self, cache_name: str) -> None:
        """Delete a cache; one that is gone already, or that cannot be deleted, expires by itself."""
        try:
            await self.genai_client.aio.caches.delete(name=cache_name)
        except Exception as error:  # noqa: BLE001 - the turn does not depend on it
            logger.warning("the context cache %s was not deleted: %s", cache_name, _text(error))

    async def _create(self, request: LlmRequest, count: int, settings: ContextCacheConfig) -> CacheMetadata | None:
        """A cache with the first `count` contents; None if it would be too small, or the service refuses."""
        if not self._is_large_enough(request, count, settings.min_tokens):
            return None
        options = settings.create_http_options
        http: Json = options.model_dump(exclude_none=True) if options is not None else {}
        if count:
            contents = requests.on_wire(_listed(request)[:count], self._dialect(request))
            http["extra_body"] = {"contents": contents, **(http.get("extra_body") or {})}
        config: Json = {
            **requests.prefix(request),
            "ttl": settings.ttl_string,
            "display_name": f"newel: {count} contents",
            "http_options": http,
        }
        try:
            cache: Cache = await self.genai_client.aio.caches.create(model=request.model, config=config)
        except Exception as error:  # noqa: BLE001 - the request goes without a cache
            logger.warning("no context cache was made for %s: %s", request.model, _text(error))
            return None
        now = seam.clock()
        return CacheMetadata(
            cache_name=cache.name,
            expire_time=cache.expire_time.timestamp() if cache.expire_time is not None else now + settings.ttl_seconds,
            fingerprint=self._fingerprint(request, count),
            invocations_used=1,
            contents_count=count,
            created_at=now,
        )

    def _is_large_enough(self, request: LlmRequest, count: int, min_tokens: int) -> bool:
        """Whether the start of the request has enough tokens for the settings and the model.

        The service counted the agent's last prompt as a whole; the start is assumed to have its share of that.
        """
        counted = request.stash.get(CACHEABLE_TOKENS, None)
        if counted is None or counted < min_tokens:
            return False
        start = self._size(request, count)
        whole = self._size(request, None)
        if not start:
            return False
        # If nothing is known of the model, the service decides.
        least = fact_of("gemini", request.model or "", "least_cached_tokens") or 0
        return int(counted * start / whole) >= int(least)

    def _size(self, request: LlmRequest, count: int | None) -> int:
        """About how many tokens the instruction, the tools and the first `count` contents have."""
        head = requests.prefix(request)
        parts = requests.on_wire(_listed(request)[:count], self._dialect(request))
        characters = len(_canonical(head)) if head else 0
        characters += sum(map(len, map(_canonical, parts)))
        return -(-characters // _CHARACTERS_PER_TOKEN)

    def _fingerprint(self, request: LlmRequest, count: int) -> str:
        """A hash of all that a cache of the first `count` contents would hold, and of where it would be stored."""
        head = requests.prefix(request)
        tools = [_sorted(tool) for tool in head.pop("tools", ())]
        client = getattr(self.genai_client, "_api_client", None)
        options = getattr(client, "_http_options", None)
        place = [getattr(client, name, None) for name in ("vertexai", "project", "location")]
        body: Json = {
            **head,
            "model": request.model,
            "place": [*place, getattr(options, "base_url", None)],
            "tools": sorted(map(_canonical, tools)),
            "contents": requests.on_wire(_listed(request)[:count], self._dialect(request)),
        }
        return hashlib.sha256(_canonical(body).encode()).hexdigest()[:16]

    def _dialect(self, request: LlmRequest) -> Dialect:
        return Dialect.of(capabilities_of("gemini", request.model or ""), vertex=bool(self.genai_client.vertexai))


async def cached_responses(client: Sdk, request: LlmRequest, send: Callable[[LlmRequest], Responses]) -> Responses:
    """The responses that `send` yields for `request` with its cache; `request` is not changed.

    If the service has lost the cache, the request is sent once more without it.
    """
    manager = GeminiContextCacheManager(client)
    prepared = request.model_copy()
    prepared.contents = requests.ending_with_user(request)
    metadata = await manager.handle_context_caching(prepared)
    started = False
    try:
        async with aclosing(_marked(manager, send(prepared), metadata)) as responses:
            async for response in responses:
                started = True
                yield response
        return
    except Exception as error:
        if started or metadata is None or metadata.cache_name is None or not _names_lost_cache(error):
            raise
        logger.warning("the context cache %s is gone: %s", metadata.cache_name, _text(error))
    metadata = CacheMetadata(fingerprint=metadata.fingerprint, contents_count=metadata.contents_count)
    async with aclosing(_marked(manager, send(request), metadata)) as responses:
        async for response in responses:
            yield response


async def _marked(manager: GeminiContextCacheManager, answer: Responses, metadata: CacheMetadata | None) -> Responses:
    """The responses of an answer; the final one carries the metadata."""
    async with aclosing(answer) as responses:
        async for response in responses:
            if metadata is not None and not response.partial:
                manager.populate_cache_metadata_in_response(response, metadata)
            yield response


def _listed(request: LlmRequest) -> list[Content]:
    return list.copy(request.contents)


def _stable_count(contents: Sequence[Content]) -> int:
    """How many contents come before the user's latest message, which differs each time."""
    listed = list.copy(contents) if isinstance(contents, list) else list(contents)
    count = len(listed)
    while count and listed[count - 1].role == "user":
        count -= 1
    return count


def _is_usable(cache: CacheMetadata, intervals: int) -> bool:
    """Whether the service still has the cache, and the cache may serve once more."""
    if cache.expire_time is None or cache.invocations_used is None:
        return False
    return seam.clock() < cache.expire_time and cache.invocations_used <= intervals


def _pays(request: LlmRequest, settings: ContextCacheConfig) -> bool:
    """Whether those requests that come within the lifetime of a new cache save more than its making and storage cost.

    What the service caches by itself needs no cache: requests that follow each other soon read the same for less.
    """
    gap = request.stash.get(CACHE_GAP, None)
    if gap is None:
        return True
    if gap <= _BY_ITSELF and fact_of("gemini", request.model or "", "caches_by_itself"):
        return False
    uses = 1 + settings.ttl_seconds // max(gap, 1)
    return uses * _SAVING > 1 + _STORAGE * settings.ttl_seconds / 3600


def _apply(request: LlmRequest, cache: CacheMetadata) -> None:
    """Refer to the cache instead of what it holds; the service refuses requests with both, or without contents."""
    request.stash[CACHED_CONTENTS] = min(cache.contents_count, max(len(request.contents) - 1, 0))
    config = request.config
    config.cached_content = cache.cache_name
    config.system_instruction = config.tools = config.tool_config = None


def _sorted(tool: object) -> object:
    """A tool with its declarations sorted: their order changes nothing."""
    if not isinstance(tool, dict) or not (declarations := tool.get("function_declarations")):
        return tool
    return {**tool, "function_declarations": sorted(declarations, key=_canonical)}


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _names_lost_cache(error: Exception) -> bool:
    """Whether the service refused a request because of the cache that it names."""
    message = str(error).lower().replace(" ", "")
    return getattr(error, "code", None) in _NOT_THERE and "cachedcontent" in message


def _text(error: Exception) -> str:
    """Kind and status of an error; its text may quote the request."""
    return f"{type(error).__name__} {getattr(error, 'code', '')}".strip()
