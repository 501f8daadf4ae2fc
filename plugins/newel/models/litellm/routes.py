"""Routes: how the services behind LiteLLM differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from newel.models.litellm.exchange import note_response
from newel.models.openai.client import http_library
from newel.models.openai.profiles import OPENAI, Profile
from newel.models.wire.clients import http_client
from newel.models.wire.limits import Limits
from newel.models.wire.service import Service


@dataclass(frozen=True, slots=True)
class Route:
    """How the models of a service are reached."""

    #: The provider whose capabilities and signatures the models have.
    family: str
    profile: Profile
    #: Find the service's finish reason, and the end marker of its streams; None: the wire is not watched.
    reason: re.Pattern[bytes] | None = None
    last: re.Pattern[bytes] | None = None
    #: The service's words for finish reasons -> those of Chat Completions.
    words: Mapping[str, str] = field(default_factory=dict)
    #: Makes what `acompletion` takes as ``client``, and the HTTP client beneath it.
    client: Callable[[Service, Limits, str | None, str | None], tuple[Any, Any]] | None = None


def _openai(service: Service, limits: Limits, base: str | None, key: str | None) -> tuple[Any, Any]:
    http = http_client(http_library(), service, limits, event_hooks={"response": [note_response]})
    sdk = import_module("openai").AsyncOpenAI(api_key=key, base_url=base, http_client=http, max_retries=0)
    return sdk, http


def _handler(service: Service, limits: Limits, base: str | None, key: str | None) -> tuple[Any, Any]:
    module = import_module("litellm.llms.custom_httpx.http_handler")
    http = http_client(module.httpx.__name__, service, limits, event_hooks={"response": [note_response]})
    handler = module.AsyncHTTPHandler.__new__(module.AsyncHTTPHandler)  # it would open a client of its own
    handler.timeout, handler.event_hooks, handler.client_alias, handler.client = None, None, None, http
    return handler, http


_CHAT = OPENAI.model_copy(update={"needs_key": False, "cache_key": None})
_ANY = Profile(strict_schemas=False, reasoning_fields=("reasoning_content",))

_FINISH = re.compile(rb'"finish_reason"\s*:\s*"([^"\\]+)"')
OPENAI_ROUTE = Route("openai", _CHAT, _FINISH, _FINISH, {}, _openai)
ANTHROPIC_ROUTE = Route(
    "anthropic",
    Profile(reasoning_fields=(), top_k=True, allowed_tools=True, capabilities={"media": ("image", "pdf")}),
    re.compile(rb'"stop_reason"\s*:\s*"([^"\\]+)"'),
    re.compile(rb'"type"\s*:\s*"message_stop"'),
    {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "tool_use": "tool_calls",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "content_filter",
    },
    _handler,
)
_ROUTES = {"openai": OPENAI_ROUTE, "anthropic": ANTHROPIC_ROUTE}
_OTHERS = {"gemini": Route("gemini", _ANY), "vertex_ai": Route("gemini", _ANY)}
#: What OpenTelemetry calls a service, where LiteLLM has another name for it.
PROVIDER_NAMES = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}


def route_of(model: str) -> Route:
    """The route of ``provider/model``."""
    provider = model.partition("/")[0]
    return _ROUTES.get(provider) or _OTHERS.get(provider) or Route("litellm", _ANY)
