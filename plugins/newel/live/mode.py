"""The mode of live runs: how an invocation runs over a connection that stays open."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING

from newel.contexts.invocation_context import full_invocation
from newel_kernel import BaseAgent, Event, FeatureUnavailableError, InvocationContext

if TYPE_CHECKING:
    from newel.live.queue import LiveRequestQueue

Events = AsyncGenerator[Event, None]


class LiveMode:
    """Agents run by their `_run_live_impl`, and what the user says comes through a queue."""

    __slots__ = ("queue",)

    def __init__(self, queue: LiveRequestQueue) -> None:
        self.queue = queue

    def enter(self, ctx: InvocationContext) -> None:
        """Show the queue to agents and tools."""
        full_invocation(ctx).live_request_queue = self.queue

    def start(self, agent: BaseAgent, ctx: InvocationContext) -> Events:
        """The agent's events; a FeatureUnavailableError if it has no live mode."""
        run: Callable[[InvocationContext], Events] | None = getattr(agent, "_run_live_impl", None)
        return run(ctx) if run is not None else has_no_live_mode(agent)

    def stores(self, event: Event) -> bool:
        """Whether the event has no inline media: sound and images of a live session are not stored."""
        parts = event.content.parts if event.content is not None else None
        return all(part.inline_data is None for part in parts or ())

    def finish(self, ctx: InvocationContext, error: BaseException | None) -> bool:
        """Give the queue back; a setting says whether hooks are called if the consumer has left."""
        self.queue.release(ctx.stash)
        settings = ctx.composition.settings.get("live")
        return not isinstance(error, GeneratorExit) or getattr(settings, "after_run_on_leaving", True)


def has_no_live_mode(agent: BaseAgent) -> Events:
    """Raise the error for an agent that cannot run live."""
    raise FeatureUnavailableError(f"{type(agent).__name__} {agent.name!r} has no live mode: use run_async")
