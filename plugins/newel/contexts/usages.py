"""Usages: what the stored answers of models say that their calls used and cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from newel_kernel import Event
from newel_types import GenerateContentResponseUsageMetadata

#: The field of a usage that holds the cost: US dollars.
COST = "cost"


def noted_cost(usage: GenerateContentResponseUsageMetadata | None) -> float | None:
    """What a stored usage says that its call cost, in US dollars; None: it says nothing."""
    noted = (usage.model_extra or {}).get(COST) if usage is not None else None
    return noted if isinstance(noted, int | float) else None


def answers_of(events: Sequence[Event]) -> Iterator[tuple[int, GenerateContentResponseUsageMetadata]]:
    """The places of the whole answers of models that say what they used, and what they say."""
    for position, event in enumerate(events):
        if event.usage_metadata is not None and not event.partial and event.author != "user":
            yield position, event.usage_metadata
