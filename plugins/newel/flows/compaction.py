"""compaction: summarises the older part of a long conversation, as the app's events_compaction_config says.

If a prompt grew too long, it runs before the contents are put together; otherwise after an invocation. The summary
is an event of the session that callers do not see; the events that it stands for stay where they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from pydantic import BaseModel

from newel import apps, budgets
from newel.flows.compaction_window import Covered, older, surplus, window
from newel.flows.retained import RETAINS, TAKES_IN
from newel_kernel import (
    ConfigurationError,
    Epilogue,
    Event,
    InvocationContext,
    Key,
    LlmRequest,
    RequestProcessor,
    hookimpl,
    subtree,
)

if TYPE_CHECKING:
    from newel.apps.base_events_summarizer import BaseEventsSummarizer
    from newel.apps.configs import EventsCompactionConfig
    from newel.models.contract import BaseLlm

    #: How an LLM agent says which model it asks.
    ChooseModel: TypeAlias = Callable[[InvocationContext], BaseLlm]

_COMPACTED = Key[bool]("compaction is done")
#: Agents in parallel would each pay for a summary of the same events: the second looks once the first has one.
_COMPACTING = Key[asyncio.Lock]("an agent compacts", asyncio.Lock)


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of compaction."""

    #: Leave the user's newest message and each agent's current step to the model when a turn is compacted.
    keep_turn: bool = False


class _Step:
    """The request processor and the epilogue, as the settings say."""

    def __init__(self, settings: Settings) -> None:
        self._keep_turn = settings.keep_turn

    async def run(self, ctx: InvocationContext, request: LlmRequest) -> None:
        """Compact if the last prompt reached the threshold."""
        config = _config(ctx)
        if config is None or config.token_threshold is None or ctx.opening is not None:  # not this conversation
            return
        turn = ctx.invocation_id if self._keep_turn else None
        async with ctx.stash[_COMPACTING]:
            if (event := await _compacted_surplus(ctx, config, ctx.agent.name, turn)) is not None:
                ctx.stash[_COMPACTED] = True
                await ctx.session_service.append_event(ctx.session, event)

    def close(self, ctx: InvocationContext, error: BaseException | None) -> Awaitable[list[Event] | None] | None:
        """Compact after an invocation that finished."""
        if ctx.app is None or error is not None or (config := _config(ctx)) is None:
            return None
        return self._close(ctx, config)

    async def _close(self, ctx: InvocationContext, config: EventsCompactionConfig) -> list[Event] | None:
        over = "" if self._keep_turn else None
        if _COMPACTED not in ctx.stash and (event := await _compacted_surplus(ctx, config, "", over)) is not None:
            return [event]
        summary = await _summarize(ctx, config, window(ctx.session.events, config, keep_turn=self._keep_turn))
        return None if summary is None else [summary]


async def summary_of(ctx: InvocationContext, keep: int) -> Event | None:
    """A summary of the session except its last `keep` events, whatever the app configures; None: nothing to sum up."""
    return await _summarize(ctx, _config(ctx), older(ctx.session.events, keep, ""))


async def summary_in_turn(ctx: InvocationContext, keep: int) -> Event | None:
    """A summary amid a turn of what the agent's branch sees, except its last `keep` events and what the turn needs.

    It holds on that branch: agents in parallel would else see it or not, as it happens.
    """
    covered = older(ctx.session.events, keep, ctx.invocation_id, ctx.branch)
    event = await _summarize(ctx, _config(ctx), covered)
    if event is not None:
        event.branch = ctx.branch
    return event


def _config(ctx: InvocationContext) -> EventsCompactionConfig | None:
    return getattr(ctx.app, "events_compaction_config", None)


async def _compacted_surplus(
    ctx: InvocationContext, config: EventsCompactionConfig, agent_name: str, turn: str | None
) -> Event | None:
    return await _summarize(ctx, config, surplus(ctx.session.events, config, agent_name, ctx.branch, turn))


async def _summarize(ctx: InvocationContext, config: EventsCompactionConfig | None, covered: Covered) -> Event | None:
    """The summary of what is covered; None if there is nothing, or the summarizer has no answer."""
    if not covered.events:
        return None
    with budgets.paid_by(ctx):
        event = await _summarizer(ctx, config).maybe_summarize_events(events=[*covered.events])
    marks = {key: [*ids] for key, ids in ((RETAINS, covered.retained), (TAKES_IN, covered.taken)) if ids}
    if event is not None and marks:
        event.custom_metadata = {**(event.custom_metadata or {}), **marks}
    return event


def _summarizer(ctx: InvocationContext, config: EventsCompactionConfig | None) -> BaseEventsSummarizer:
    summarizer = config.summarizer if config is not None else None
    if summarizer is not None:
        return summarizer
    agents = (ctx.agent, *subtree(ctx.agent.root_agent))
    choose: ChooseModel | None = next(filter(None, (getattr(one.__newel__, "model_for", None) for one in agents)), None)
    if choose is None:
        raise ConfigurationError(
            f"the app {ctx.app_name!r} has no LLM agent whose model could summarise its sessions; "
            f"set EventsCompactionConfig(summarizer=LlmEventSummarizer(llm=...))"
        )
    return apps.LlmEventSummarizer(llm=choose(ctx))


def serves(app: object) -> bool:
    """Only an app that configures compaction."""
    return getattr(app, "events_compaction_config", None) is not None


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_request_processors(settings: Mapping[str, Settings]) -> list[RequestProcessor]:
    """The processor `compaction`."""
    return [RequestProcessor(name="compaction", run=_Step(settings["compaction"]).run, serves=serves)]


@hookimpl
def register_epilogues(settings: Mapping[str, Settings]) -> list[Epilogue]:
    """The epilogue `compaction`."""
    return [Epilogue(name="compaction", run=_Step(settings["compaction"]).close)]
