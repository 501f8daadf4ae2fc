"""Readers: what services read of a model's call beyond the conventions: its cost, and the kinds of its tokens.

Langfuse, Phoenix and other readers of OpenInference take ``llm.*``, Logfire ``operation.cost``, Braintrust
``braintrust.*``. The older conventions have no names for these, and the newer ones changed one that is still read.
"""

from __future__ import annotations

from collections.abc import Mapping

from newel.contexts.usages import noted_cost
from newel_kernel import Json

#: The kinds of tokens, as `attributes.tokens` has them, by the names that services read.
_TOKENS = {
    "cache_read.input": ("llm.token_count.prompt_details.cache_read", "braintrust.metrics.prompt_cached_tokens"),
    "cache_write.input": (
        "llm.token_count.prompt_details.cache_write",
        "braintrust.metrics.prompt_cache_creation_tokens",
    ),
    "reasoning.output": ("llm.token_count.completion_details.reasoning",),
}
#: US dollars.
_COST = ("operation.cost", "llm.cost.total")


def for_readers(response: object, tokens: Mapping[str, int]) -> Json:
    """The attributes of a response, whose tokens are counted by kind; none for what it does not tell."""
    attributes: Json = {name: count for kind, names in _TOKENS.items() if (count := tokens.get(kind)) for name in names}
    cost = noted_cost(getattr(response, "usage_metadata", None))
    if cost is not None:
        attributes |= dict.fromkeys(_COST, cost)
    return attributes
