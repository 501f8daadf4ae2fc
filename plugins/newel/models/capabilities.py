"""Capabilities: what models can do, in one table by provider and name. Nothing else reads a model's name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from newel.models.contract import LiveCapabilities, ModelCapabilities
from newel_kernel import ConfigurationError, did_you_mean


@dataclass(frozen=True, slots=True)
class Row:
    """How the models that match (both patterns in full) differ from the rows before."""

    provider: str
    model: str
    changes: Mapping[str, Any]


def _row(provider: str, model: str, **changes: Any) -> Row:
    sets = {name: frozenset(v) if isinstance(v, (set, tuple)) else v for name, v in changes.items()}
    return Row(provider, model, sets)


#: The service resamples its input.
_GEMINI_LIVE = LiveCapabilities(input_rates=(16_000, 8_000, 24_000, 44_100, 48_000), resumption=True)

#: The service takes 24 kHz; the others are resampled here.
_OPENAI_LIVE = LiveCapabilities(input_rates=(24_000, 16_000, 8_000, 48_000))

#: Later rows win.
TABLE: tuple[Row, ...] = (
    # Gemini
    _row(
        "gemini",
        ".*",
        media={"image", "pdf", "audio", "video"},
        result_media=(),
        thinking={"budget"},
        caching=True,
        sampling={"temperature", "top_p", "top_k"},
    ),
    _row("gemini", r"(.*/)?gemini-(([2-9]|\d\d).*|[\w-]+-early-exp\d*)", code_execution=True),
    _row("gemini", r"(.*/)?gemini-2\.5-flash.*", thinking={"budget", "off"}),
    _row(
        "gemini",
        r"(.*/)?gemini-([3-9]|\d\d).*",
        thinking={"budget", "effort"},
        result_media={"image", "pdf"},
        signed_calls=True,
        output_schema_with_tools=True,
    ),
    _row("gemini", r"(.*/)?gemini-.*(live|native-audio).*", live=_GEMINI_LIVE),
    # Anthropic. A name that no later row matches is taken for a newer model, if it is a Claude model.
    _row(
        "anthropic",
        ".*",
        caching=True,
        sampling={"temperature", "top_p", "top_k"},
        output_schema=False,
        thinking={"budget", "off"},
    ),
    _row(
        "anthropic",
        r"(.*/)?claude-.*",
        sampling=(),
        output_schema=True,
        output_schema_with_tools=True,
        tool_search=True,
        thinking={"adaptive", "display", "effort", "off", "xhigh"},
    ),
    _row(
        "anthropic",
        r"(.*/)?claude-(\d.*|instant.*|\w+-4(-[01])?([-@]\d{8}|-latest|))",
        output_schema=False,
        output_schema_with_tools=False,
        tool_search=False,
        thinking={"budget", "off"},
        sampling={"temperature", "top_p", "top_k"},
    ),
    _row("anthropic", r"(.*/)?claude-([12][.-].*|instant.*|3-(opus|sonnet|haiku|5).*)", thinking=()),
    _row("anthropic", r"(.*/)?claude-([12][.-].*|instant.*|3-(opus|sonnet|haiku).*)", media={"image"}),
    _row(
        "anthropic",
        r"(.*/)?claude-\w+-4-[56]([-@].*)?",
        thinking={"budget", "off"},
        sampling={"either", "temperature", "top_k", "top_p"},
    ),
    _row("anthropic", r"(.*/)?claude-opus-4-1([-@].*)?", sampling={"either", "temperature", "top_k", "top_p"}),
    _row("anthropic", r"(.*/)?claude-opus-4-5([-@].*)?", thinking={"budget", "effort", "off"}),
    _row("anthropic", r"(.*/)?claude-\w+-4-6([-@].*)?", thinking={"adaptive", "budget", "effort", "off"}),
    # OpenAI Chat Completions
    _row("openai", ".*", caching=True, output_schema_with_tools=True, media={"image", "pdf", "audio"}),
    # OpenAI Responses
    _row("openai-responses", ".*", caching=True, output_schema_with_tools=True),
    _row("openai-responses", r"gpt-(5\.([4-9]|\d\d)|[6-9]|\d\d)(?!.*(chat|nano)).*", tool_search=True),
    _row("openai|openai-responses", r".*realtime.*", live=_OPENAI_LIVE),
    # Models of OpenAI that reason: ``minimal`` and ``xhigh`` are further efforts, ``off`` is the effort none.
    _row(r"openai|openai-responses", r"(o\d|gpt-[5-9]|gpt-\d\d)(?!.*chat).*", thinking={"effort"}, sampling=()),
    _row(r"openai|openai-responses", r"gpt-5(-(?!chat).*)?", thinking={"effort", "minimal"}),
    _row(r"openai|openai-responses", r"gpt-(5\.\d|[6-9]|\d\d)(?!.*chat).*", thinking={"effort", "off", "xhigh"}),
)


#: Further facts that a provider must know about its own models: provider, model, name, value. Later rows win.
FACTS: tuple[tuple[str, str, str, Any], ...] = (
    ("gemini", r"(.*/)?gemini-2\.5-.*", "least_cached_tokens", 2048),
    ("gemini", r"(.*/)?gemini-3.*", "least_cached_tokens", 4096),
    # It caches what requests begin alike with, for some minutes, for the price of a cache that is asked for.
    ("gemini", r"(.*/)?gemini-(2\.5|[3-9]|\d\d).*", "caches_by_itself", True),
    ("anthropic", r"(.*/)?claude-(opus|fable|mythos)-([5-9]|\d\d)([-@].*)?", "least_cached_tokens", 512),
    ("anthropic", r"(.*/)?claude-opus-4-7([-@].*)?", "least_cached_tokens", 2048),
    ("anthropic", r"(.*/)?claude-(opus-4-[56]|haiku-4-5)([-@].*)?", "least_cached_tokens", 4096),
    ("anthropic", r"(.*/)?claude-(3-5-haiku|3-haiku|haiku-3).*", "least_cached_tokens", 2048),
    # A prefix is found only at breakpoints, and takes some that we set.
    ("openai", r"gpt-(5\.([6-9]|\d\d)|[6-9]|\d\d)(?!.*chat).*", "cache_breakpoints", True),
    # The window: how many tokens a request and its answer can have.
    ("anthropic", r"(.*/)?claude-.*", "context_tokens", 200_000),
    ("gemini", r"(.*/)?gemini-.*", "context_tokens", 1_048_576),
    ("openai", r"(.*/)?(gpt-4o|gpt-4-turbo).*", "context_tokens", 128_000),
    ("openai", r"(.*/)?gpt-4\.1.*", "context_tokens", 1_047_576),
    ("openai", r"(.*/)?o[134](-.*)?", "context_tokens", 200_000),
    ("openai", r"(.*/)?gpt-([5-9]|\d\d).*", "context_tokens", 400_000),
    # How many tokens an answer can have, with its thoughts.
    ("anthropic", r"(.*/)?claude-.*", "output_tokens", 64_000),
    ("anthropic", r"(.*/)?claude-(opus|fable|mythos)-(4-[6-9]|[5-9]|\d\d).*", "output_tokens", 128_000),
    ("gemini", r"(.*/)?gemini-.*", "output_tokens", 65_536),
    ("openai", r"(.*/)?(gpt-4o|gpt-4-turbo).*", "output_tokens", 16_384),
    ("openai", r"(.*/)?gpt-4\.1.*", "output_tokens", 32_768),
    ("openai", r"(.*/)?o[134](-.*)?", "output_tokens", 100_000),
    ("openai", r"(.*/)?gpt-([5-9]|\d\d).*", "output_tokens", 128_000),
    # Each medium has a field of its own, and text comes as realtime input.
    ("gemini", r"(.*/)?gemini-(3|[4-9]|\d\d)(\.\d+)?-.*live.*", "realtime_fields", True),
    ("gemini", r"(.*/)?gemini-.*live-translate.*", "translates", True),
)


@lru_cache(maxsize=512)
def fact_of(provider: str, model: str, name: str) -> Any:
    """A fact of a model; None if it is not known."""
    rows = [row for row in FACTS if (row[0], row[2]) == (provider, name) and re.fullmatch(row[1], model)]
    return rows[-1][3] if rows else None


@lru_cache(maxsize=512)
def _of(provider: str, model: str) -> ModelCapabilities:
    capable = ModelCapabilities()
    for row in TABLE:
        if re.fullmatch(row.provider, provider) and re.fullmatch(row.model, model):
            capable = replace(capable, **row.changes)
    return capable


def capabilities_of(provider: str, model: str, overrides: Mapping[str, Any] | None = None) -> ModelCapabilities:
    """A model's capabilities in the table, changed as `overrides` say."""
    capable = _of(provider, model)
    return overridden(capable, overrides) if overrides else capable


def overridden(capable: ModelCapabilities, overrides: Mapping[str, Any]) -> ModelCapabilities:
    """`capable` with other values for some fields; lists count as sets. A ConfigurationError names a wrong field."""
    kinds = {field.name: type(getattr(capable, field.name)) for field in fields(capable)}
    changes: dict[str, Any] = {}
    for name, value in overrides.items():
        if name not in kinds:
            raise ConfigurationError(f"a model has no capability {name!r}{did_you_mean(name, kinds)}")
        if name == "live":
            changes[name] = _live(capable.live, value)
            continue
        if kinds[name] is frozenset and isinstance(value, (list, tuple, set, frozenset)):
            value = frozenset(value)
        if not isinstance(value, kinds[name]):
            raise ConfigurationError(f"the capability {name!r} must be a {_WORDS[kinds[name]]}, not {value!r}")
        changes[name] = value
    return replace(capable, **changes)


def _live(capable: LiveCapabilities | None, value: object) -> LiveCapabilities | None:
    """The live capabilities that overrides give: all of them, None, or only the fields that differ."""
    if value is None or isinstance(value, LiveCapabilities):
        return value
    names = [field.name for field in fields(LiveCapabilities)]
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"the capability 'live' must be fields of LiveCapabilities or None, not {value!r}")
    for name in value:
        if name not in names:
            raise ConfigurationError(f"a live connection has no capability {name!r}{did_you_mean(str(name), names)}")
    changes: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in value.items()}
    return replace(capable or LiveCapabilities(), **changes)


_WORDS = {bool: "boolean", frozenset: "list of words"}
