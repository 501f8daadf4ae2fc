"""Requests: what a provider must be able to put into its protocol's words.

They are in ``requests.json``: contents and config in the JSON form of newel's types, bytes as base64.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

from newel.agents.context_cache_config import ContextCacheConfig
from newel.models.llm_request import LlmRequest
from newel.tools.base_tool import BaseTool
from newel_kernel import Json
from newel_testkit.wire.gemini_turns import signature
from newel_types import Content, GenerateContentConfig


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request of the kit."""

    name: str
    contents: list[Json]
    config: Json = field(default_factory=dict)
    #: The model that it is for: a ``usual`` one, one that is ``thinking``, or the ``newest``.
    model: str = "usual"
    #: The model for a protocol that differs.
    models: dict[str, str] = field(default_factory=dict)
    #: The protocols in which it has a meaning; empty: all.
    only: tuple[str, ...] = ()
    #: Whether the first call of each step carries Gemini's signature, if the protocol is Gemini's.
    sign: bool = False
    cache: Json | None = None

    def level(self, protocol: str) -> str:
        """``usual``, ``thinking`` or ``newest``."""
        return self.models.get(protocol, self.model)

    def typed(self, protocol: str) -> list[Content]:
        """The contents."""
        contents = [Content.model_validate(_with_bytes(content)) for content in self.contents]
        for content in contents if self.sign and protocol == "gemini" else ():
            first = next((part for part in content.parts or () if part.function_call), None)
            if first is not None:
                first.thought_signature = base64.b64decode(signature("g"))
        return contents

    def request(self, protocol: str, model: str) -> LlmRequest:
        """The request for a model of that name."""
        config = GenerateContentConfig.model_validate(_with_bytes(self.config))
        request = LlmRequest(model=model, contents=self.typed(protocol), config=config)
        for tool in self.config.get("tools", ()):
            for one in tool["function_declarations"]:
                request.tools_dict[one["name"]] = BaseTool(name=one["name"], description="a tool")
        if self.cache is not None:
            request.cache_config = ContextCacheConfig(**self.cache)
        return request


@lru_cache(maxsize=1)
def wire_requests() -> dict[str, WireRequest]:
    """The requests of the kit, by name."""
    listed = json.loads(files(__package__).joinpath("requests.json").read_text("utf-8"))
    return {one["name"]: WireRequest(**{**one, "only": tuple(one.get("only", ()))}) for one in listed}


def _with_bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_bytes(one) for one in value]
    if not isinstance(value, dict):
        return value
    encoded = {"thought_signature"} | ({"data"} if "mime_type" in value else set())
    return {key: base64.b64decode(one) if key in encoded else _with_bytes(one) for key, one in value.items()}
