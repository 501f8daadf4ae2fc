"""context_budget: keeps requests small: what a model has read and no longer needs is left out, and can be read again.

Old results are shortened many at a time, since each time breaks the start of the prompt that the provider caches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from newel.flows import compaction, contents
from newel.flows.context_budget import kinds
from newel.flows.context_budget.budget import Budget, Settings
from newel.flows.context_budget.kinds import ContextStrategy
from newel.flows.context_budget.strategies import clamping, clearing, drop
from newel.flows.llm_agents import agent_processor
from newel_kernel import Descriptor, Event, InvocationContext, Kind, RequestProcessor, hookimpl

#: The newest events, which a summary leaves to the model.
_KEEP = 4


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """Ways to make requests smaller."""
    specification = kinds.register_context_strategies
    return [Kind(ContextStrategy, specification, order="context_strategies", open_ended=True)]


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_context_strategies(settings: Mapping[str, Settings]) -> Sequence[ContextStrategy]:
    """The strategies `drop`, `clear`, `clamp` and `summarize`."""
    own = settings["context_budget"]
    strategies = [
        ContextStrategy(name="drop", shorten=drop),
        ContextStrategy(name="clear", shorten=clearing(own.keep)),
        ContextStrategy(name="clamp", shorten=clamping(own.kept_characters)),
    ]
    return [*strategies, ContextStrategy(name="summarize", summarize=_summary if own.summarize else None)]


async def _summary(ctx: InvocationContext) -> Event | None:
    return await compaction.summary_in_turn(ctx, _KEEP)


@hookimpl
def register_request_processors(settings: Mapping[str, BaseModel]) -> list[RequestProcessor]:
    """The processor `context_budget`."""
    own = settings["context_budget"]
    reading = settings["contents"] if "contents" in settings else contents.Settings()  # another plugin replaces it
    assert isinstance(own, Settings)
    assert isinstance(reading, contents.Settings)
    budget = Budget(own, reading)
    return [agent_processor("context_budget", budget.for_agent, applies_to=budget.applies_to)]
