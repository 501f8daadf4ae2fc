"""cache_keys: a key for OpenAI's prompt cache, so that the requests of a conversation reach the server that has it.

The service sends requests of one key and one beginning to one server, as long as they are few: a key for each agent of
a session spreads the load, and keeps what grows in one place. What an app says in its `ContextCacheConfig` is stronger.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from newel.flows.llm_agents import LlmContext, request_processor
from newel.models.google.request_keys import CACHE_SCOPE
from newel_kernel import BaseAgent, Key, LlmRequest, RequestProcessor, hookimpl

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm

_KEYS = Key[dict[str, str]]("cache keys of agents", dict)
#: The only provider that takes a key.
_PROVIDER = "openai"


def run(ctx: LlmContext, request: LlmRequest) -> None:
    """Give the request its key, unless it has one."""
    agent = ctx.agent
    if agent.__newel__.model_for(ctx).provider_name != _PROVIDER or CACHE_SCOPE in request.stash:
        return
    keys, name = ctx.session.stash[_KEYS], agent.name
    if name not in keys:
        keys[name] = key_of(ctx.session.app_name, ctx.session.user_id, ctx.session.id, name)
    request.stash[CACHE_SCOPE] = keys[name]


def key_of(*names: str) -> str:
    """A key that is the same for the same names, and does not tell them."""
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()[:32]


def applies_to(agent: BaseAgent | None) -> bool:
    """Only if the agent's model, its own or an ancestor's, may be one of the provider's: an address is read later."""
    while agent is not None:
        model: str | BaseLlm | None = getattr(agent, "model", None)
        if model:
            return isinstance(model, str) or bool(model.capabilities.caching)
        agent = agent.parent_agent
    return True


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `cache_keys`."""
    return [request_processor("cache_keys", run, applies_to=applies_to)]
