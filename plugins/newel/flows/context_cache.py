"""context_cache: tells the model how its provider may cache the unchanging start of a request, and what it has cached.

The provider does the caching, if it can, and notes on its response what it used; see `ContextCacheConfig`. With
`if_cheaper` it also learns how often the agent asks, and makes a cache only if that costs less than none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

from pydantic import BaseModel

from newel.flows.cache_keys import key_of
from newel.flows.visibility import on_branch
from newel.models.google.request_keys import CACHE_CONFIG, CACHE_GAP, CACHE_METADATA, CACHE_SCOPE, CACHEABLE_TOKENS
from newel_kernel import Event, InvocationContext, LlmRequest, Log, RequestProcessor, hookimpl, seam

if TYPE_CHECKING:
    from newel.agents.context_cache_config import ContextCacheConfig
    from newel_types import CacheMetadata

#: How many of the latest answers tell how often the agent asks.
_RECENT = 4


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of context caching."""

    #: Make a cache that the provider stores, and charges for by the hour, only if the requests that will probably use
    #: it save more than it costs. Otherwise each app with a `ContextCacheConfig` gets them.
    if_cheaper: bool = False


def run(ctx: InvocationContext, request: LlmRequest, *, if_cheaper: bool = False) -> None:
    """Pass on the app's settings, the agent's latest cache and how large its last prompt was."""
    config: ContextCacheConfig | None = getattr(ctx.app, "context_cache_config", None)
    if config is None:
        return
    stash = request.stash
    stash[CACHE_CONFIG] = config
    stash[CACHE_SCOPE] = _scope(ctx)
    stash[CACHE_METADATA], stash[CACHEABLE_TOKENS] = _latest(ctx)
    if if_cheaper:
        stash[CACHE_GAP] = _gap(ctx)


def _scope(ctx: InvocationContext) -> str:
    """A key that is the same for all prompts that may begin alike: those of one app, user and agent."""
    return key_of(ctx.session.app_name, ctx.session.user_id, ctx.agent.name)


def _latest(ctx: InvocationContext) -> tuple[CacheMetadata | None, int | None]:
    """The cache metadata and the prompt's token count that the agent's latest responses carry.

    Events on other branches than the agent's, and of other isolated runs, belong to another conversation and its cache.
    """
    metadata: CacheMetadata | None = None
    tokens: int | None = None
    for event in _own_events(ctx):
        if metadata is None and event.cache_metadata is not None:
            metadata = _used_again(event.cache_metadata, same_invocation=event.invocation_id == ctx.invocation_id)
        if tokens is None and event.usage_metadata is not None:
            tokens = event.usage_metadata.prompt_token_count
        if metadata is not None and tokens is not None:
            break
    return metadata, tokens


def _gap(ctx: InvocationContext) -> float:
    """How many seconds usually pass between the agent's requests: the median of the latest gaps."""
    times = [seam.clock()]
    for event in _own_events(ctx):
        if event.usage_metadata is not None:
            times.append(event.timestamp)
            if len(times) > _RECENT:
                break
    gaps = sorted(later - earlier for later, earlier in pairwise(times))
    return gaps[len(gaps) // 2] if gaps else inf


def _own_events(ctx: InvocationContext) -> Iterator[Event]:
    """The agent's events of this conversation, the newest first."""
    for _, event in Log(ctx.session.events).backwards():
        if event.author != ctx.agent.name or event.isolation_scope != ctx.isolation_scope:
            continue
        if on_branch(event.branch, ctx.branch):
            yield event


def _used_again(metadata: CacheMetadata, *, same_invocation: bool) -> CacheMetadata:
    """`metadata` for the next request: the cache is used in one more invocation."""
    if metadata.invocations_used is None or same_invocation:
        return metadata
    return metadata.model_copy(update={"invocations_used": metadata.invocations_used + 1})


def serves(app: object) -> bool:
    """Only an app that configures caching."""
    return getattr(app, "context_cache_config", None) is not None


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_request_processors(settings: Mapping[str, Settings]) -> list[RequestProcessor]:
    """The processor `context_cache`."""
    step = partial(run, if_cheaper=settings["context_cache"].if_cheaper)
    return [RequestProcessor(name="context_cache", run=step, serves=serves)]
