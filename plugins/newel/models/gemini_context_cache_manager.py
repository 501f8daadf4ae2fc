"""GeminiContextCacheManager: caches at the service for the unchanging start of requests.

A cache holds the system instruction, the tools and the contents before the user's latest words. It is made once a
request shows that this start stayed the same, and is used until it expires, it served `cache_intervals` invocations,
or the start changes. What is known of it travels as `CacheMetadata` on the responses, and so in the session.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any

from newel.models import gemini_request
from newel_kernel import seam
from newel_kernel import LlmRequest
from newel_kernel import LlmResponse
from newel_types import CacheMetadata
from newel_types import Content

logger = logging.getLogger(__name__)

#: The least tokens of a cache, by the start of the model's name. Other names: the service decides.
_LEAST = {"gemini-2.5-": 2048, "gemini-3": 4096}
_CHARACTERS_PER_TOKEN = 4
#: The statuses with which the service answers a request that names a cache that is gone.
_GONE = (400, 403, 404)

Responses = AsyncGenerator[LlmResponse, None]


class GeminiContextCacheManager:
    """Makes, uses and deletes the caches of one client of the google-genai SDK."""

    def __init__(self, genai_client: Any) -> None:
        self.genai_client = genai_client

    async def handle_context_caching(self, llm_request: LlmRequest) -> CacheMetadata | None:
        """Let `llm_request` use a cache, where there is one or one can be made: it is changed in place.

        Returns what its response is to carry (`populate_cache_metadata_in_response`); None where the request is not
        to be cached, or brings a cache of its own in ``config.cached_content``.
        """
        if llm_request.cache_config is None or llm_request.config.cached_content:
            return None
        known: CacheMetadata | None = llm_request.cache_metadata
        fits = known is not None and self._fingerprint(llm_request, known.contents_count) == known.fingerprint
        if known is not None and known.cache_name is not None:
            if fits and _is_usable(known, llm_request.cache_config.cache_intervals):
                _apply(llm_request, known)
                return known
            await self.cleanup_cache(known.cache_name)
        count = _stable_count(llm_request.contents)
        if known is not None and fits:  # the same start once more: it pays to cache it
            count = max(count, known.contents_count)
            made = await self._create(llm_request, count)
            if made is not None:
                _apply(llm_request, made)
                return made
        return CacheMetadata(fingerprint=self._fingerprint(llm_request, count), contents_count=count)

    def populate_cache_metadata_in_response(self, llm_response: LlmResponse, cache_metadata: CacheMetadata) -> None:
        """Note on a response what its request used."""
        llm_response.cache_metadata = cache_metadata

    async def cleanup_cache(self, cache_name: str) -> None:
        """Delete a cache; one that is gone already, or that cannot be deleted, expires by itself."""
        try:
            await self.genai_client.aio.caches.delete(name=cache_name)
        except Exception as error:  # noqa: BLE001 - the turn does not depend on it
            logger.warning("the context cache %s was not deleted: %s", cache_name, _shown(error))

    async def _create(self, request: LlmRequest, count: int) -> CacheMetadata | None:
        """A cache with the first `count` contents; None where it would be too small, or the service refuses."""
        if not self._is_large_enough(request, count):
            return None
        settings = request.cache_config
        options = settings.create_http_options
        http = options.model_dump(exclude_none=True) if options is not None else {}
        if count:
            contents = gemini_request.on_wire(_listed(request)[:count], vertex=self._vertex)
            http["extra_body"] = {"contents": contents, **(http.get("extra_body") or {})}
        config = {
            **gemini_request.prefix(request),
            "ttl": settings.ttl_string,
            "display_name": f"newel: {count} contents",
            "http_options": http,
        }
        try:
            made = await self.genai_client.aio.caches.create(model=request.model, config=config)
        except Exception as error:  # noqa: BLE001 - the request goes without a cache
            logger.warning("no context cache was made for %s: %s", request.model, _shown(error))
            return None
        now = seam.clock()
        return CacheMetadata(
            cache_name=made.name,
            expire_time=made.expire_time.timestamp() if made.expire_time is not None else now + settings.ttl_seconds,
            fingerprint=self._fingerprint(request, count),
            invocations_used=1,
            contents_count=count,
            created_at=now,
        )

    def _is_large_enough(self, request: LlmRequest, count: int) -> bool:
        """Whether the start of the request has the tokens that the settings and the model ask for.

        The service counted the agent's last prompt as a whole; the start is taken to have its share of that.
        """
        counted = request.cacheable_contents_token_count
        if counted is None or counted < request.cache_config.min_tokens:
            return False
        start = self._size(request, count)
        whole = self._size(request, None)
        if not start:
            return False
        name = (request.model or "").rpartition("/")[2]
        least = next((tokens for prefix, tokens in _LEAST.items() if name.startswith(prefix)), 0)
        return int(counted * start / whole) >= least

    def _size(self, request: LlmRequest, count: int | None) -> int:
        """About how many tokens the instruction, the tools and the first `count` contents have."""
        head = gemini_request.prefix(request)
        parts = gemini_request.on_wire(_listed(request)[:count], vertex=self._vertex)
        characters = len(_canonical(head)) if head else 0
        characters += sum(map(len, map(_canonical, parts)))
        return -(-characters // _CHARACTERS_PER_TOKEN)

    def _fingerprint(self, request: LlmRequest, count: int) -> str:
        """A hash of all that a cache of the first `count` contents would hold, and of where it would lie."""
        head = gemini_request.prefix(request)
        tools = [_in_order(tool) for tool in head.pop("tools", ())]
        client = getattr(self.genai_client, "_api_client", None)
        options = getattr(client, "_http_options", None)
        place = [getattr(client, name, None) for name in ("vertexai", "project", "location")]
        told = {
            **head,
            "model": request.model,
            "place": [*place, getattr(options, "base_url", None)],
            "tools": sorted(map(_canonical, tools)),
            "contents": gemini_request.on_wire(_listed(request)[:count], vertex=self._vertex),
        }
        return hashlib.sha256(_canonical(told).encode()).hexdigest()[:16]

    @property
    def _vertex(self) -> bool:
        return bool(self.genai_client.vertexai)


async def cached_answers(client: Any, request: LlmRequest, send: Callable[[LlmRequest], Responses]) -> Responses:
    """What `send` gives for `request` with its cache, as the request's settings say; `request` stays as it is.

    Where the service has lost the cache, the request is sent once more without it.
    """
    manager = GeminiContextCacheManager(client)
    prepared = request.model_copy()
    prepared.contents = gemini_request.ending_with_user(request)
    metadata = await manager.handle_context_caching(prepared)
    begun = False
    try:
        async with aclosing(_noted(manager, send(prepared), metadata)) as responses:
            async for response in responses:
                begun = True
                yield response
        return
    except Exception as error:
        if begun or metadata is None or metadata.cache_name is None or not _is_of_the_cache(error):
            raise
        logger.warning("the context cache %s is gone: %s", metadata.cache_name, _shown(error))
    metadata = CacheMetadata(fingerprint=metadata.fingerprint, contents_count=metadata.contents_count)
    async with aclosing(_noted(manager, send(request), metadata)) as responses:
        async for response in responses:
            yield response


async def _noted(manager: GeminiContextCacheManager, answers: Responses, metadata: CacheMetadata | None) -> Responses:
    """The answers; the whole one carries the metadata."""
    async with aclosing(answers) as responses:
        async for response in responses:
            if metadata is not None and not response.partial:
                manager.populate_cache_metadata_in_response(response, metadata)
            yield response


def _listed(request: LlmRequest) -> list[Content]:
    return list.copy(request.contents)


def _stable_count(contents: Sequence[Content]) -> int:
    """How many contents come before the user's latest words, which differ each time."""
    listed = list.copy(contents) if isinstance(contents, list) else list(contents)
    count = len(listed)
    while count and listed[count - 1].role == "user":
        count -= 1
    return count


def _is_usable(known: CacheMetadata, intervals: int) -> bool:
    """Whether the service still has the cache, and it did not serve as often as it may."""
    if known.expire_time is None or known.invocations_used is None:
        return False
    return seam.clock() < known.expire_time and known.invocations_used <= intervals


def _apply(request: LlmRequest, cache: CacheMetadata) -> None:
    """Refer to the cache in place of what it holds; the service refuses requests that say both, or have no contents."""
    contents = _listed(request)
    request.contents = contents[min(cache.contents_count, max(len(contents) - 1, 0)) :]
    config = request.config
    config.cached_content = cache.cache_name
    config.system_instruction = config.tools = config.tool_config = None


def _in_order(tool: Any) -> Any:
    """A tool with its declarations sorted: their order changes nothing."""
    declared = tool.get("function_declarations") if isinstance(tool, dict) else None
    if not declared:
        return tool
    return {**tool, "function_declarations": sorted(declared, key=_canonical)}


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _is_of_the_cache(error: Exception) -> bool:
    """Whether the service refused a request because of the cache that it names."""
    told = str(error).lower().replace(" ", "")
    return getattr(error, "code", None) in _GONE and "cachedcontent" in told


def _shown(error: Exception) -> str:
    """Kind and status of an error; its text may quote the request."""
    return f"{type(error).__name__} {getattr(error, 'code', '')}".strip()
