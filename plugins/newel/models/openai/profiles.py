"""Profiles: how an endpoint that speaks OpenAI's protocol differs from OpenAI."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from newel.models.capabilities import overridden
from newel.models.contract import ModelCapabilities
from newel.models.wire.keys import plain_key
from newel_kernel import ConfigurationError, Json, ModelError, did_you_mean


class Profile(BaseModel, extra="forbid", frozen=True):
    """An endpoint of Chat Completions. The defaults suit an unknown server."""

    #: Which of OpenAI's protocols it speaks.
    protocol: Literal["chat", "responses"] = "chat"
    #: Its address; None: that of OPENAI_BASE_URL, or OpenAI's.
    base_url: str | None = None
    #: The variable of the environment that holds the key.
    key_variable: str | None = None
    #: False: it answers without a key, and gets one only if `key_variable` is set.
    needs_key: bool = False
    #: The fields in which it sends thoughts, and the one in which it wants them back; None: it wants none.
    reasoning_fields: tuple[str, ...] = ("reasoning_content", "reasoning")
    reasoning_back: str | None = None
    #: The field that sets how much to think; OpenRouter has `reasoning`, chat templates have `enable_thinking`.
    thinking_field: Literal["reasoning_effort", "reasoning", "enable_thinking"] = "reasoning_effort"
    #: It sends thoughts as ``<think>…</think>`` within the text.
    think_tags: bool = False
    strict_schemas: bool = False
    parallel_tools: bool = True
    #: It takes a list of the only tools that the model may call.
    allowed_tools: bool = False
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    #: The role of instructions; None: developer for models that reason, system for others.
    instruction_role: Literal["system", "developer"] | None = "system"
    #: It counts tokens in streams, if asked to.
    stream_usage: bool = True
    #: Its streams may end without a finish reason.
    finish_reason_optional: bool = False
    #: It takes ``top_k``, which OpenAI does not.
    top_k: bool = False
    #: The field for the key of its prompt cache; None: it takes no key.
    cache_key: str | None = None
    #: Further fields of each request's body.
    extra_body: Json = Field(default_factory=dict)
    headers: Mapping[str, str] = Field(default_factory=dict)
    #: Capabilities of its models that differ from the table, by field of `ModelCapabilities`.
    capabilities: Mapping[str, Any] = Field(default_factory=dict)

    def key(self, model: str) -> str:
        """The key in the environment; raises a ModelError that names the variable if a needed key is missing."""
        variable = self.key_variable
        key = plain_key(os.environ.get(variable, ""), model, variable) if variable else ""
        if key or not self.needs_key:
            return key
        raise ModelError(f"the model {model!r} needs an API key: set {self.key_variable}")


OPENAI = Profile(
    key_variable="OPENAI_API_KEY",
    needs_key=True,
    strict_schemas=True,
    allowed_tools=True,
    max_tokens_field="max_completion_tokens",
    instruction_role=None,
    cache_key="prompt_cache_key",
)

#: The endpoints that are known by name; settings change them and add others.
ENDPOINTS: Mapping[str, Profile] = {
    "ollama": Profile(base_url="http://127.0.0.1:11434/v1", think_tags=True, finish_reason_optional=False),
    "vllm": Profile(
        base_url="http://127.0.0.1:8000/v1",
        key_variable="VLLM_API_KEY",
        think_tags=True,
        top_k=True,
        thinking_field="enable_thinking",
        reasoning_back="reasoning",
    ),
    "openrouter": Profile(
        base_url="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY",
        needs_key=True,
        top_k=True,
        thinking_field="reasoning",
        reasoning_fields=("reasoning", "reasoning_content"),
        reasoning_back="reasoning",
        strict_schemas=True,
        capabilities={"output_schema_with_tools": True, "media": ("image", "pdf", "audio")},
    ),
}


def profile_of(name: str, fields: Mapping[str, Any]) -> Profile:
    """The profile of an endpoint whose settings are `fields`; a ConfigurationError says what is wrong with them."""
    profiles = {"openai": OPENAI, **ENDPOINTS}
    like = fields.get("like", name)
    base = profiles.get(like)
    if base is None and "like" in fields:
        hint = did_you_mean(str(like), profiles)
        raise ConfigurationError(f"the endpoint {name!r} is like {like!r}, which does not exist{hint}")
    for field in fields:
        if field != "like" and field not in Profile.model_fields:
            raise ConfigurationError(
                f"the endpoint {name!r} has an unknown field {field!r}{did_you_mean(field, Profile.model_fields)}"
            )
    changes = {field: value for field, value in fields.items() if field != "like"}
    try:
        profile = Profile.model_validate({**(base.model_dump() if base is not None else {}), **changes})
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ConfigurationError(f"the endpoint {name!r} is wrong: {problems}") from None
    overridden(ModelCapabilities(), profile.capabilities)
    if profile.base_url is None:
        raise ConfigurationError(f"the endpoint {name!r} needs a base_url, such as http://127.0.0.1:8000/v1")
    return profile
