"""context_cache: tells the model how its provider may cache the unchanging start of a request, and what it has cached.

The provider does the caching, if it can, and notes on its response what it used; see `ContextCacheConfig`.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from newel.flows.visibility import on_branch
from newel.models.google.request_keys import CACHE_CONFIG, CACHE_METADATA, CACHE_SCOPE, CACHEABLE_TOKENS
from newel_kernel import InvocationContext, LlmRequest, Log, RequestProcessor, hookimpl

if TYPE_CHECKING:
    from newel.agents.context_cache_config import ContextCacheConfig
    from newel_types import CacheMetadata


def run(ctx: InvocationContext, request: LlmRequest) -> None:
    """Pass on the app's settings, the agent's latest cache and how large its last prompt was."""
    config: ContextCacheConfig | None = getattr(ctx.app, "context_cache_config", None)
    if config is None:
        return
    stash = request.stash
    stash[CACHE_CONFIG] = config
    stash[CACHE_SCOPE] = _scope(ctx)
    stash[CACHE_METADATA], stash[CACHEABLE_TOKENS] = _latest(ctx)


def _scope(ctx: InvocationContext) -> str:
    """A key that is the same for all prompts that may begin alike: those of one app, user and agent."""
    names = json.dumps([ctx.session.app_name, ctx.session.user_id, ctx.agent.name])
    return hashlib.sha256(names.encode()).hexdigest()[:32]


def _latest(ctx: InvocationContext) -> tuple[CacheMetadata | None, int | None]:
    """The cache metadata and the prompt's token count that the agent's latest responses carry.

    Events on other branches than the agent's, and of other isolated runs, belong to another conversation and its cache.
    """
    metadata: CacheMetadata | None = None
    tokens: int | None = None
    for _, event in Log(ctx.session.events).backwards():
        if event.author != ctx.agent.name or event.isolation_scope != ctx.isolation_scope:
            continue
        if not on_branch(event.branch, ctx.branch):
            continue
        if metadata is None and event.cache_metadata is not None:
            metadata = _used_again(event.cache_metadata, same_invocation=event.invocation_id == ctx.invocation_id)
        if tokens is None and event.usage_metadata is not None:
            tokens = event.usage_metadata.prompt_token_count
        if metadata is not None and tokens is not None:
            break
    return metadata, tokens


def _used_again(metadata: CacheMetadata, *, same_invocation: bool) -> CacheMetadata:
    """`metadata` for the next request: the cache is used in one more invocation."""
    if metadata.invocations_used is None or same_invocation:
        return metadata
    return metadata.model_copy(update={"invocations_used": metadata.invocations_used + 1})


def serves(app: object) -> bool:
    """Only an app that configures caching."""
    return getattr(app, "context_cache_config", None) is not None


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `context_cache`."""
    return [RequestProcessor(name="context_cache", run=run, serves=serves)]
