"""Budget: how large requests may be, and what happens when the next one is larger."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from newel.flows.contents import Settings as Contents
from newel.flows.contents import history_of, reading_of
from newel.flows.context_budget.edits import Edit, telling
from newel.flows.context_budget.kinds import ContextStrategy, OldResult
from newel.flows.context_budget.occupancy import Occupancy, Shown
from newel.flows.context_budget.read_result import NAME, ReadResultTool
from newel.flows.llm_agents import LlmContext
from newel.models.capabilities import fact_of
from newel.policies.kept_results import reference_in
from newel_kernel import Key, LlmRequest

if TYPE_CHECKING:
    from newel.agents.llm_agent import LlmAgent
    from newel.flows.history import History
    from newel.flows.llm_agents import RequestStep
    from newel.models.contract import BaseLlm

_ACCOUNTS = Key[dict["History", "_Account"]]("accounts of contexts", dict)
#: With fewer events there is a question, a step and no more.
_LEAST_EVENTS = 5


class Settings(BaseModel, extra="forbid", defer_build=True):
    """Settings of the context budget."""

    #: From how many tokens of a request on old results are cleared.
    clear_above: int = Field(default=30_000, ge=1_000)
    #: Down to how many tokens they are cleared then.
    clear_to: int = Field(default=12_000, ge=0)
    #: How many results are cleared at once, at least: each time breaks the prefix that the provider caches.
    at_once: int = Field(default=8, ge=1)
    #: The results of this many requests for tools before the current one keep their beginnings and ends.
    keep: int = Field(default=3, ge=0)
    #: How many characters of them.
    kept_characters: int = Field(default=2_000, ge=100)
    #: A shorter result is never cleared, in characters.
    least: int = Field(default=1_000, ge=300)
    #: The tokens of a model's window, for models whose window is not known.
    window: int = Field(default=128_000, ge=4_000)
    #: The share of a window beyond which results are cleared one by one, and summaries written.
    share: float = Field(default=0.75, gt=0, le=1)
    #: Tools whose results stay.
    exclude_tools: tuple[str, ...] = ()
    #: Agents that see everything.
    exclude_agents: tuple[str, ...] = ()
    #: Characters of a page that `read_result` gives; a page must not become an artifact itself (`tool_results`).
    page: int = Field(default=30_000, ge=1_000)
    #: Write a summary if nothing else makes a request fit into the window.
    summarize: bool = True


class _Account:
    """What the budget keeps of a history."""

    __slots__ = ("_above", "_growth", "limit", "occupancy", "tried")

    def __init__(self, occupancy: Occupancy, settings: Settings, limit: int) -> None:
        self.occupancy = occupancy
        #: The tokens of a request that must not be exceeded, and those from which on results are cleared.
        self.limit = limit
        self._above = min(settings.clear_above, self.limit)
        #: By how much a request grows between two times, also if much of it cannot be left out.
        self._growth = max(0, settings.clear_above - settings.clear_to)
        #: The results when nothing was to be shortened, and whether the request was to be made smaller in any case.
        self.tried: tuple[int, bool] | None = None

    @property
    def above(self) -> int:
        """From how many tokens of a request on something is left out."""
        return min(max(self._above, self.occupancy.cleared_at + self._growth), self.limit)

    def can_act(self, at_once: int) -> bool:
        """Whether there may be enough to leave out, or the request must be made smaller in any case."""
        occupancy = self.occupancy
        pressing = occupancy.exceeds(self.limit)
        if self.tried == (occupancy.version, pressing):  # strategies would say the same again
            return pressing and self.can_summarize(occupancy.tokens())
        return pressing or occupancy.whole >= at_once

    def can_summarize(self, tokens: int) -> bool:
        """Whether enough came since the last summary for another one to be worth its price."""
        return tokens >= self.occupancy.summarized_at + self.limit // 4


class Budget:
    """The request processor `context_budget`."""

    def __init__(self, settings: Settings, contents: Contents) -> None:
        self._settings = settings
        self._reading = reading_of(contents)
        self._tool = ReadResultTool(settings.page)

    def applies_to(self, agent: LlmAgent) -> bool:
        """Whether an agent has results that can be cleared: it has tools, and sees what was before."""
        return (
            bool(agent.tools)
            and getattr(agent, "include_contents", "default") == "default"
            and agent.name not in self._settings.exclude_agents
            and not any(getattr(tool, "name", getattr(tool, "__name__", "")) == NAME for tool in agent.tools)
        )

    def for_agent(self, agent: LlmAgent) -> RequestStep:
        """The step of an agent: it costs little until its conversation is long."""
        name, tool, reading, at_once = agent.name, self._tool, self._reading, self._settings.at_once

        def run(ctx: LlmContext, request: LlmRequest) -> Awaitable[None] | None:
            events = ctx.session.events
            if (count := len(events)) < _LEAST_EVENTS or ctx.mode is not None or ctx.opening is not None:
                if count == _LEAST_EVENTS - 2 and events[-1].touched_actions is not None:  # an artifact is saved there
                    _offer(ctx, request, tool)
                return None
            history = history_of(ctx, name, reading)
            account = ctx.session.stash[_ACCOUNTS].get(history)
            if account is None:
                account = self._open(ctx, agent, history)
            account.occupancy.update(events)
            if account.occupancy.exceeds(account.above) and account.can_act(at_once):
                return self._relieve(ctx, request, history, account)
            if history.edits or account.occupancy.offloaded:
                request.append_tools([tool])
            return None

        return run

    def _open(self, ctx: LlmContext, agent: LlmAgent, history: History) -> _Account:
        model = agent.__newel__.model_for(ctx)
        view = (agent.name, ctx.branch, ctx.isolation_scope)
        settings = self._settings
        occupancy = Occupancy(history, view, settings.least, model.provider_name, frozenset(settings.exclude_tools))
        account = ctx.session.stash[_ACCOUNTS][history] = _Account(
            occupancy, settings, limit_of(settings, model, agent)
        )
        return account

    async def _relieve(self, ctx: LlmContext, request: LlmRequest, history: History, account: _Account) -> None:
        """Make the request smaller, if it is too large and there is enough to leave out."""
        strategies = ctx.composition.registry.all(ContextStrategy)
        pressing = account.occupancy.exceeds(account.limit)
        edits, left = self._shortened(strategies, account.occupancy, pressing=pressing)
        if edits:
            await ctx.session_service.append_event(ctx.session, telling(ctx, edits, left))
        else:
            account.tried = account.occupancy.version, pressing
        if pressing and left > account.limit:
            await self._summarize(ctx, strategies, account, left)
        account.occupancy.update(ctx.session.events)
        if history.edits or account.occupancy.offloaded:
            request.append_tools([self._tool])

    def _shortened(
        self, strategies: Sequence[ContextStrategy], occupancy: Occupancy, *, pressing: bool
    ) -> tuple[list[Edit], int]:
        """What is to be shown in place of results, and how many tokens are left then; nothing if it is too little.

        They are only counted if something is shortened, or the request is pressing.
        """
        settings, left = self._settings, occupancy.tokens() if pressing else -1
        shown = occupancy.old()
        if not shown or (sum(one.edit is None for one in shown) < settings.at_once and not pressing):
            return [], left
        rest = dict(enumerate(_old_results(occupancy, shown)))
        edits: dict[int, Edit] = {}
        chosen: list[tuple[int, Edit]] = []
        first_time = 0
        for strategy in strategies:
            if strategy.shorten is None or (0 <= left <= settings.clear_to and first_time >= settings.at_once):
                continue
            numbers = {id(result): number for number, result in rest.items()}
            for result, response in strategy.shorten([*rest.values()]):
                number = numbers.pop(id(result), None)
                if number is not None:
                    del rest[number]
                    first_time += shown[number].edit is None
                    chosen.append((number, Edit(shown[number].target, result.handle, strategy.name, response)))
            if first_time < settings.at_once and not pressing:
                continue  # what they save does not matter yet
            left = occupancy.tokens() if left < 0 else left
            for number, edit in chosen:
                if (saving := occupancy.saving(shown[number], edit.response)) > 0:
                    left -= saving
                    edits[number] = edit
            chosen.clear()
        if not pressing and sum(shown[number].edit is None for number in edits) < settings.at_once:
            return [], left
        return [edits[number] for number in sorted(edits)], left

    async def _summarize(
        self, ctx: LlmContext, strategies: Sequence[ContextStrategy], account: _Account, tokens: int
    ) -> None:
        """Have a summary written, unless one was just written and did not help."""
        if not account.can_summarize(tokens):
            return
        for strategy in strategies:
            if strategy.summarize is not None and (event := await strategy.summarize(ctx)) is not None:
                await ctx.session_service.append_event(ctx.session, event)
                account.occupancy.update(ctx.session.events)
                size = telling(ctx, [], account.occupancy.tokens())
                await ctx.session_service.append_event(ctx.session, size)
                return


def _offer(ctx: LlmContext, request: LlmRequest, tool: ReadResultTool) -> None:
    """Declare the tool if a result of the first step became an artifact."""
    responses = ctx.session.events[-1].get_function_responses()
    if ctx.mode is None and ctx.opening is None and any(reference_in(one.response) for one in responses):
        request.append_tools([tool])


def _old_results(occupancy: Occupancy, shown: Sequence[Shown]) -> Iterator[OldResult]:
    """The results as strategies see them."""
    for number, one in enumerate(shown, occupancy.handles + 1):
        yield OldResult(
            call=one.call,
            response=one.response,
            handle=one.edit.handle if one.edit is not None else f"r{number}",
            characters=one.characters,
            age=occupancy.steps - one.step,
            shortened_by=one.edit.strategy if one.edit is not None else "",
        )


def limit_of(settings: Settings, model: BaseLlm, agent: LlmAgent) -> int:
    """How many tokens a request may have: its share of the window, and no more than the longest answer leaves of it."""
    window = window_of(model) or settings.window
    config = agent.generate_content_config
    answer = (config.max_output_tokens if config is not None else None) or 0
    return min(int(settings.share * window), max(window - answer, window // 4))


def window_of(model: BaseLlm) -> int | None:
    """How many tokens a request to a model can have; None if it is not known."""
    facts = (fact_of(provider, model.model, "context_tokens") for provider in ("anthropic", "gemini", "openai"))
    return next((fact for fact in facts if fact is not None), None)
