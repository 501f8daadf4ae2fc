"""Steps: how often an invocation may go round, in the loops of agents and the cycles of graphs."""

from __future__ import annotations

from pydantic import BaseModel, Field

from newel_kernel import Event, InvocationContext, Key, NewelError

PLUGIN = "turns"


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of turns."""

    #: How many nodes of graphs and sub-agents of loops one run of an invocation may start before a cycle of the graph,
    #: or a loop without `max_iterations`, must not turn again; null: any number.
    max_steps: int | None = Field(default=500, ge=1)
    #: Tell by an event that a node of a graph chose a route that none of its edges has, so that nothing follows.
    unmatched_routes: bool = True


class StepLimitError(NewelError):
    """An invocation went round and round: it took more steps than the setting `max_steps` allows."""


class Steps:
    """The steps that one run of an invocation has taken."""

    __slots__ = ("limit", "taken")

    def __init__(self) -> None:
        self.limit: int | None = None
        self.taken = 0

    def spent(self) -> bool:
        """Whether nothing may turn again."""
        return self.limit is not None and self.taken >= self.limit

    def error(self, what: str) -> StepLimitError:
        """The error, which says `what` was about to turn again."""
        return StepLimitError(
            f"{what}, after {self.taken} steps of the invocation, the most that it may take. If it is meant to go "
            f"round so often, raise the setting `{PLUGIN}: max_steps` of the distribution (null: no limit)"
        )


_STEPS = Key[Steps]("steps", Steps)


def failure_event(ctx: InvocationContext, author: str, error: StepLimitError) -> Event:
    """The event that tells the error."""
    event = Event(invocation_id=ctx.invocation_id, author=author, branch=ctx.branch)
    event.error_code, event.error_message = type(error).__name__, str(error)
    return event


def steps_of(ctx: InvocationContext) -> Steps:
    """The steps of this run of the invocation; graphs and loops within it share them."""
    if _STEPS in ctx.stash:
        return ctx.stash[_STEPS]
    steps = ctx.stash[_STEPS]
    steps.limit = ctx.composition.settings_of(PLUGIN, Settings).max_steps
    return steps
