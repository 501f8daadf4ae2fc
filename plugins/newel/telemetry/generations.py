"""Generations of the GenAI conventions: the attributes as one of them names them.

OTEL_SEMCONV_STABILITY_OPT_IN chooses, as everywhere in OpenTelemetry: with ``gen_ai_latest_experimental`` the
conventions 0.1.0 of their own repository, without it those of 1.37, which most services read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from newel.telemetry.attributes import Attributes

_VARIABLE, _OPT_IN = "OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental"
#: The names of 1.37 for models, agents and tools. What has none there is ``newel.*``.
_OLD_NAMES = frozenset(
    (
        "gen_ai.provider.name",
        "gen_ai.operation.name",
        "gen_ai.output.type",
        "gen_ai.conversation.id",
        "gen_ai.agent.name",
        "gen_ai.agent.description",
        "gen_ai.system_instructions",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.request.model",
        "gen_ai.request.max_tokens",
        "gen_ai.request.choice.count",
        "gen_ai.request.temperature",
        "gen_ai.request.top_p",
        "gen_ai.request.top_k",
        "gen_ai.request.stop_sequences",
        "gen_ai.request.frequency_penalty",
        "gen_ai.request.presence_penalty",
        "gen_ai.request.seed",
        "gen_ai.response.id",
        "gen_ai.response.model",
        "gen_ai.response.finish_reasons",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens",
        "gen_ai.tool.name",
        "gen_ai.tool.call.id",
        "gen_ai.tool.description",
        "gen_ai.tool.type",
    )
)
#: What services read of the calls of tools, where the conventions have no name.
_OLD_CONTENT = {
    "gen_ai.tool.call.arguments": "gcp.vertex.agent.tool_call_args",
    "gen_ai.tool.call.result": "gcp.vertex.agent.tool_response",
}


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation of the conventions."""

    #: The address of its schema; empty: it has none yet.
    schema: str
    is_latest: bool

    def named(self, attributes: Attributes) -> Attributes:
        """The attributes by the names of this generation."""
        if self.is_latest:
            return attributes
        if attributes.get("gen_ai.operation.name") == "invoke_workflow":  # it has no such operation
            attributes = {name: value for name, value in attributes.items() if not name.startswith("gen_ai.")}
        return {_old_name(name): _old_value(name, value) for name, value in attributes.items()}

    def span_name(self, name: str) -> str:
        """The name of a span."""
        return name if self.is_latest or not name.startswith("invoke_workflow ") else "invocation"


def _old_name(name: str) -> str:
    if not name.startswith("gen_ai.") or name in _OLD_NAMES:
        return name
    return _OLD_CONTENT.get(name) or f"newel.{name.removeprefix('gen_ai.')}"


def _old_value(name: str, value: object) -> object:
    return float(value) if name == "gen_ai.request.top_k" and isinstance(value, int) else value


LATEST = Generation("", is_latest=True)
OLD = Generation("https://opentelemetry.io/schemas/1.37.0", is_latest=False)


def chosen() -> Generation:
    """The generation that the environment asks for."""
    words = os.environ.get(_VARIABLE, "").split(",")
    return LATEST if _OPT_IN in (word.strip() for word in words) else OLD
