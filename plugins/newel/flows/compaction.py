"""compaction: summarises the older part of a long conversation, as the app's events_compaction_config says.

If a prompt grew too long, it runs before the contents are put together; otherwise after an invocation. The summary
is an event of the session that callers do not see; the events that it stands for stay where they are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from newel import apps
from newel.flows.compaction_window import older, surplus, window
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
    from newel.apps.configs import EventsCompactionConfig
    from newel.models.contract import BaseLlm

    #: How an LLM agent says which model it asks.
    ChooseModel: TypeAlias = Callable[[InvocationContext], BaseLlm]

_COMPACTED = Key[bool]("compaction is done")


async def run(ctx: InvocationContext, request: LlmRequest) -> None:
    """Compact if the last prompt reached the threshold."""
    config = _config(ctx)
    if config is None or config.token_threshold is None or ctx.opening is not None:  # not this conversation
        return
    if (event := await _compacted_surplus(ctx, config, ctx.agent.name)) is not None:
        ctx.stash[_COMPACTED] = True
        await ctx.session_service.append_event(ctx.session, event)


def close(ctx: InvocationContext, error: BaseException | None) -> Awaitable[list[Event] | None] | None:
    """Compact after an invocation that finished."""
    if ctx.app is None or error is not None or (config := _config(ctx)) is None:
        return None
    return _close(ctx, config)


async def _close(ctx: InvocationContext, config: EventsCompactionConfig) -> list[Event] | None:
    if _COMPACTED not in ctx.stash and (event := await _compacted_surplus(ctx, config, "")) is not None:
        return [event]
    if not (events := window(ctx.session.events, config)):
        return None
    summary = await _summarize(ctx, config, events)
    return None if summary is None else [summary]


async def summary_of(ctx: InvocationContext, keep: int) -> Event | None:
    """A summary of the session except its last `keep` events, whatever the app configures; None: nothing to sum up."""
    events = older(ctx.session.events, keep)
    return await _summarize(ctx, _config(ctx), events) if events else None


def _config(ctx: InvocationContext) -> EventsCompactionConfig | None:
    return getattr(ctx.app, "events_compaction_config", None)


async def _compacted_surplus(ctx: InvocationContext, config: EventsCompactionConfig, agent_name: str) -> Event | None:
    events = surplus(ctx.session.events, config, agent_name, ctx.branch)
    return await _summarize(ctx, config, events) if events else None


async def _summarize(
    ctx: InvocationContext, config: EventsCompactionConfig | None, events: list[Event]
) -> Event | None:
    summarizer = config.summarizer if config is not None else None
    if summarizer is None:
        agents = (ctx.agent, *subtree(ctx.agent.root_agent))
        choose: ChooseModel | None = next(
            filter(None, (getattr(one.__newel__, "model_for", None) for one in agents)), None
        )
        if choose is None:
            raise ConfigurationError(
                f"the app {ctx.app_name!r} has no LLM agent whose model could summarise its sessions; "
                f"set EventsCompactionConfig(summarizer=LlmEventSummarizer(llm=...))"
            )
        summarizer = apps.LlmEventSummarizer(llm=choose(ctx))
    return await summarizer.maybe_summarize_events(events=events)


def serves(app: object) -> bool:
    """Only an app that configures compaction."""
    return getattr(app, "events_compaction_config", None) is not None


@hookimpl
def register_request_processors() -> list[RequestProcessor]:
    """The processor `compaction`."""
    return [RequestProcessor(name="compaction", run=run, serves=serves)]


@hookimpl
def register_epilogues() -> list[Epilogue]:
    """The epilogue `compaction`."""
    return [Epilogue(name="compaction", run=close)]
