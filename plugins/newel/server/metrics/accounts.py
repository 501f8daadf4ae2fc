"""Accounts: a plugin that counts the runs of a server, with the tokens and the money that they took.

It looks at a run when it begins and when it has ended, never at an event that passes.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from newel.contexts.usages import noted_cost
from newel.models.kinds import model_of
from newel.models.policies.model_costs import cost_of
from newel.questions.question import open_questions
from newel.server.metrics.process import METRICS
from newel.tools.agent_calls import DEPTH
from newel_kernel import Event, InvocationContext, Key, Log, hookimpl, seam
from newel_types import GenerateContentResponseUsageMetadata, deferred

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm

# What an agent needs loads with the first one.
_agent_type, _named_model = deferred("newel.agents", "LlmAgent"), deferred("newel.agents.llm_driver", "named_model")

Usage = GenerateContentResponseUsageMetadata
_UNKNOWN = "(unknown)"


@dataclass(slots=True)
class _Beginning:
    """When a run began, and with how many events in its session."""

    at: float
    events: int
    #: The outcome that an error means.
    outcome: str = ""


_BEGINNING = Key[_Beginning]("beginning of a counted run")


class Accounts:
    """Counts what each run of an app took. An agent that runs as a tool adds to the run of its caller."""

    name = "server_accounts"

    @hookimpl
    def before_run_callback(self, invocation_context: InvocationContext) -> None:
        """Note the beginning."""
        session = invocation_context.session
        invocation_context.stash[_BEGINNING] = _Beginning(seam.monotonic(), len(session.events))

    @hookimpl
    def on_run_error_callback(self, invocation_context: InvocationContext, error: BaseException) -> None:
        """Note how the run ends."""
        if (beginning := invocation_context.stash.get(_BEGINNING, None)) is not None:
            beginning.outcome = "cancelled" if isinstance(error, CancelledError) else "failed"

    @hookimpl
    def after_run_callback(self, invocation_context: InvocationContext) -> None:
        """Count the run, and what its models took."""
        ctx = invocation_context
        beginning = ctx.stash.get(_BEGINNING, None)
        if beginning is None:
            return
        app, made = ctx.session.app_name, [*_made(ctx, beginning)]
        for event in made:
            if event.usage_metadata is not None:
                _count(app, ctx, event, event.usage_metadata)
        if not ctx.stash.get(DEPTH, 0):
            METRICS.runs.add(1, app, beginning.outcome or _outcome(ctx, made))
            METRICS.run_seconds.add(seam.monotonic() - beginning.at, app)


def _made(ctx: InvocationContext, beginning: _Beginning) -> Iterator[Event]:
    """The events that the run has made; other runs and clients may have stored some between them."""
    events = ctx.session.events
    for position in range(beginning.events, len(events)):
        event = events[position]
        if event.invocation_id == ctx.invocation_id:
            yield event


def _outcome(ctx: InvocationContext, made: Sequence[Event]) -> str:
    """How a run ended that nothing has broken off."""
    if made and made[-1].error_code:
        return "error"
    if any(event.long_running_tool_ids for event in made):
        questions = open_questions(Log(ctx.session.events))
        if any(one.invocation_id == ctx.invocation_id for one in questions):
            return "waiting"
    return "done"


def _count(app: str, ctx: InvocationContext, event: Event, usage: Usage) -> None:
    model = _model(ctx, event.author)
    name = event.model_version or (model.model if model is not None else "") or _UNKNOWN
    METRICS.answers.add(1, app, name)
    for kind, count in (
        ("input", usage.prompt_token_count),
        ("cached", usage.cached_content_token_count),
        ("output", usage.candidates_token_count),
        ("thinking", usage.thoughts_token_count),
    ):
        if count:
            METRICS.tokens.add(count, app, name, kind)
    dollars = _dollars(model, name, usage)
    if dollars is not None:
        METRICS.dollars.add(dollars, app, name)
    else:
        METRICS.unpriced.add(1, app, name)


def _dollars(model: BaseLlm | None, name: str, usage: Usage) -> float | None:
    """As the policy `model_costs` has noted, or by its prices; a model that is not networked has none."""
    if (noted := noted_cost(usage)) is not None:
        return float(noted)
    if model is None or not model.networked:
        return None
    dollars = cost_of(getattr(model, "provider", ""), name, usage)
    return None if dollars is None else float(dollars)


def _model(ctx: InvocationContext, author: str) -> BaseLlm | None:
    """The model of the agent that has made an event."""
    agent = ctx.agent.root_agent.find_agent(author)
    if not isinstance(agent, _agent_type()):
        return None
    choice: str | BaseLlm = _named_model()(agent)
    return model_of(ctx.composition, choice) if isinstance(choice, str) else choice
