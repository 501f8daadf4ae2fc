"""Budgets around model calls: refused, raised and resumed; whose calls count; what failed calls cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import Field

from newel.agents import LlmAgent, ParallelAgent, RunConfig, SequentialAgent
from newel.apps import App, EventsCompactionConfig, LlmEventSummarizer, ResumabilityConfig
from newel.budgets import Account, BudgetExceededError, Limit, ledger_of
from newel.budgets.memory import MemoryLedger
from newel.budgets.prices import Pricing
from newel.budgets.settings import Settings
from newel.contexts.limits import SCALE, UNITS, Owner, account_id, most_amount, shown_amount, stored_amount
from newel.models import BaseLlm, LlmResponse
from newel.models.kinds import ModelPolicy, ModelProvider
from newel.models.remote import RemoteLlm
from newel.models.scripted import ScriptedModel
from newel.models.wire.service import Service
from newel.models.wire.usage import token_usage
from newel.plugins.reflect_retry_model_plugin import ReflectAndRetryModelPlugin
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.tools import AgentTool
from newel.workflow import Workflow
from newel_compose import compose
from newel_kernel import ConfigurationError, Event, LlmRequest, ModelError, SessionError, StreamingMode, hookimpl
from newel_types import Content, FinishReason, FunctionCall, Part
from newel_types import GenerateContentResponseUsageMetadata as Usage

SERVICE = Service("parrot", "polly")
PRICE = {"input": 1.0, "output": 10.0}
#: The cost of an answer of `Parrot`: 1,000 tokens in, 100 out.
COST = 0.002


class Parrot(RemoteLlm):
    """A networked model that reports usage: each step is a text, an error, or chunks that may end in an error."""

    provider = "parrot"
    model: str = "polly"
    script: list[Any] = Field(default_factory=lambda: ["Hello"])
    calls: int = 0

    async def _answers(self, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        step = self.script[min(self.calls, len(self.script) - 1)]
        self.calls += 1
        for one in step if isinstance(step, list) else [step]:
            if isinstance(one, Exception):
                raise one
            content = Content(role="model", parts=[Part(text=one)])
            if isinstance(step, list):
                yield LlmResponse(content=content, partial=True)
                continue
            usage = token_usage(prompt=1_000, output=100)
            yield LlmResponse(content=content, usage_metadata=usage, finish_reason=FinishReason.STOP)


def distribution(folder: Path, *limits: dict[str, Any], **settings: Any) -> str:
    """The file of `standard` with these limits and other settings."""
    own = {"limits": list(limits), "prices": {"polly": PRICE, "cheap": {"input": 0.1, "output": 0.1}}}
    quick = {"model_retries": {"initial_delay": 0.001}}
    text = {"name": "d", "extends": "standard", "settings": {"budgets": own, **quick, **settings}}
    (folder / "d.yaml").write_text(json.dumps(text))
    return str(folder / "d.yaml")


class Shop:
    """An app with its runner, and the messages that it gets."""

    def __init__(self, agent: Any, composed: str | None = None, **options: Any) -> None:
        self.store = options.pop("session_service", None) or InMemorySessionService()
        where: Any = {"app": options.pop("app")} if "app" in options else {"app_name": "shop", "agent": agent}
        self.runner = Runner(
            **where, session_service=self.store, auto_create_session=True, distribution=composed, **options
        )

    async def ask(self, message: str | None = "hi", *, session: str = "s", **options: Any) -> list[Event]:
        run = self.runner.run_async(user_id="u", session_id=session, new_message=message, **options)
        return [event async for event in run]

    async def accounts(self) -> dict[tuple[str, str], int]:
        """What is spent, by the account's owner and unit."""
        accounts: list[Account] = await ledger_of(self.runner.composition, self.store).accounts()
        assert all(account.held == 0 for account in accounts)
        return {(json.loads(one.id)[0], one.unit): one.spent for one in accounts}

    async def last_event(self) -> Event:
        session = await self.store.get_session(app_name="shop", user_id="u", session_id="s")
        assert session is not None
        return session.events[-1]


@pytest.mark.parametrize(
    ("unit", "stored", "words"),
    [
        ("money", 5 * 10**9, "$5.00"),
        ("money", 1_234_567_890_000, "$1,234.56789"),
        ("money", 2_000, "$0.000002"),
        ("tokens", 1_234_567, "1,234,567 tokens"),
        ("calls", 1, "1 call"),
        ("seconds", 12_500, "12.5 seconds"),
    ],
)
def test_amounts_are_shown_in_full(unit: Any, stored: int, words: str) -> None:
    assert shown_amount(unit, stored) == words


@pytest.mark.parametrize("letter", ['"', "\\", "a", "é", "😀"])
def test_the_id_of_an_account_is_never_too_long_for_a_key(letter: str) -> None:
    owner = Owner("shop", letter * 700, "s", "r")
    one, other = (account_id(Limit(per=per, calls=1), owner, 0) for per in ("user", "session"))
    assert max(len(one), len(other)) <= 600
    assert one != account_id(Limit(per="user", calls=1), owner._replace(user=letter * 701), 0)


def dollars(amount: float) -> int:
    return stored_amount("money", amount)


def test_without_limits_nothing_is_registered_and_nothing_counted() -> None:
    composed = compose("standard")
    assert "budgets" not in [policy.name for policy in composed.registry.all(ModelPolicy)]
    assert "budgets" not in [step.name for step in composed.request_chain]

    async def check() -> None:
        shop = Shop(LlmAgent(name="a", model=ScriptedModel("Hello.")))
        await shop.ask()
        assert await shop.accounts() == {}

    asyncio.run(check())


def test_money_tokens_and_calls_are_counted_for_every_owner(tmp_path: Path) -> None:
    every = {"money": 1, "tokens": 10**6, "calls": 9, "seconds": 10**4}
    limits = [{"per": per, **every} for per in ("run", "session", "user", "app", "all")]

    async def check() -> None:
        shop = Shop(LlmAgent(name="a", model=Parrot()), distribution(tmp_path, *limits))
        await shop.ask()
        await shop.ask(session="t")
        accounts = await ledger_of(shop.runner.composition, shop.store).accounts()
        spent = {(json.loads(one.id)[0], one.unit): one.spent for one in accounts if one.unit != "seconds"}
        for per, times in (("user", 2), ("app", 2), ("all", 2), ("session", 1), ("run", 1)):
            found = [spent[per, unit] for unit in ("money", "tokens", "calls")]
            assert found == [dollars(COST) * times, 1_100 * times, times]
        assert len(accounts) == 4 * (2 + 2 + 1 + 1 + 1)

    asyncio.run(check())


def test_a_refused_run_says_which_budget_how_much_and_until_when_and_goes_on_once_it_is_raised(tmp_path: Path) -> None:
    limit = {"per": "user", "period": "day", "calls": 1}
    model = ScriptedModel([FunctionCall(name="look", args={}), "Done."])

    def look() -> str:
        """Looks."""
        return "seen"

    app = App(
        name="shop",
        root_agent=LlmAgent(name="a", model=model, tools=[look]),
        resumability_config=ResumabilityConfig(is_resumable=True),
    )

    async def check() -> None:
        shop = Shop(None, distribution(tmp_path, limit), app=app)
        with pytest.raises(BudgetExceededError, match=r"this user for the day is used up: 1 call of 1 call spent"):
            await shop.ask()
        refused = await shop.last_event()
        assert refused.error_code == "BUDGET_EXCEEDED"
        assert refused.error_message is not None
        assert "it begins again at" in refused.error_message
        facts = (refused.custom_metadata or {})["model_error"]
        assert (facts["unit"], facts["limit"], facts["spent"]) == ("calls", 1, 1)
        assert facts["until"] % 86_400 == 0
        await ledger_of(shop.runner.composition, shop.store).raise_limit(facts["account"], "calls", 1)
        events = await shop.ask(None, invocation_id=refused.invocation_id)
        assert [part.text for event in events if event.content for part in event.content.parts or ()] == ["Done."]

    asyncio.run(check())


def test_a_run_config_limits_its_run_also_in_a_composition_without_limits() -> None:
    async def check() -> None:
        shop = Shop(LlmAgent(name="a", model=ScriptedModel(["One.", "Two.", "Three."])))
        config = RunConfig(budgets=[{"per": "session", "calls": 1}])
        await shop.ask(run_config=config)
        with pytest.raises(BudgetExceededError):
            await shop.ask(run_config=config)
        await shop.ask()  # a run without limits is not counted
        assert await shop.accounts() == {("session", "calls"): 1}

    asyncio.run(check())


def test_a_run_config_adds_to_the_limits_of_the_distribution(tmp_path: Path) -> None:
    async def check() -> None:
        shop = Shop(
            LlmAgent(name="a", model=ScriptedModel(["One."] * 9)), distribution(tmp_path, {"per": "app", "calls": 2})
        )
        lower = RunConfig(budgets=[Limit(per="run", tokens=1), Limit(per="app", calls=1)])
        await shop.ask(run_config=lower)
        with pytest.raises(BudgetExceededError):
            await shop.ask(run_config=lower)
        await shop.ask()
        with pytest.raises(BudgetExceededError):
            await shop.ask()

    asyncio.run(check())


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"per": "run"}, "at least one of money"),
        ({"per": "planet", "calls": 1}, "per"),
        ({"per": "run", "money": -1}, "money"),
        ({"per": "run", "coins": 1}, "coins"),
        ({"per": "run", "money": float("inf")}, "inf money cannot be counted"),
        ({"per": "run", "money": float("nan")}, "money"),
        ({"per": "run", "money": 1e11}, "money cannot be counted"),
        ({"per": "run", "tokens": 10**30}, r"tokens cannot be counted: it is not from 1 to 1\.15292e\+18"),
        ({"per": "run", "seconds": 1e-4}, r"0\.0001 seconds cannot be counted: it is not from 0\.001"),
    ],
)
def test_a_wrong_limit_is_refused_by_name(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        RunConfig(budgets=[fields])


@pytest.mark.parametrize("unit", UNITS)
def test_the_largest_limit_and_the_smallest_one_are_counted_in_64_bits(unit: Any) -> None:
    least, most = stored_amount(unit, 1 / SCALE[unit]), stored_amount(unit, most_amount(unit))
    assert (least, most) == (1, 2**60)
    assert list(Limit(per="run", **{unit: most_amount(unit)}).amounts()) == [(unit, most)]


def test_a_run_config_needs_the_plugin() -> None:
    async def check() -> None:
        shop = Shop(LlmAgent(name="a", model=ScriptedModel("One.")), "minimal")
        with pytest.raises(ConfigurationError, match="needs the plugin 'budgets'"):
            await shop.ask(run_config=RunConfig(budgets=[Limit(per="run", calls=1)]))

    asyncio.run(check())


def answering(name: str, *steps: Any) -> LlmAgent:
    return LlmAgent(name=name, description=name, model=ScriptedModel(steps or ["Yes."]))


def with_agent_tool(*, include_plugins: bool = True) -> LlmAgent:
    tool = AgentTool(answering("helper"), include_plugins=include_plugins)
    return LlmAgent(
        name="a", model=ScriptedModel([FunctionCall(name="helper", args={"request": "x"}), "Done."]), tools=[tool]
    )


def transferring() -> LlmAgent:
    call = FunctionCall(name="transfer_to_agent", args={"agent_name": "helper"})
    return LlmAgent(name="a", model=ScriptedModel([call]), sub_agents=[answering("helper", "Yes.")])


def asking_a_tool() -> Workflow:
    """A graph that asks no model itself: a function of it runs an agent as a tool."""
    tool = AgentTool(answering("helper"))

    async def ask(ctx: Any) -> Any:
        return await tool.run_async(args={"request": "x"}, tool_context=ctx)

    return Workflow(name="g", edges=[("START", ask)])


SHAPES: dict[str, Any] = {
    "agent tool of a function": lambda: (asking_a_tool(), 1),
    "agent tool": lambda: (with_agent_tool(), 3),
    "agent tool without plugins": lambda: (with_agent_tool(include_plugins=False), 3),
    "transfer": lambda: (transferring(), 2),
    "sequence": lambda: (SequentialAgent(name="all", sub_agents=[answering("a"), answering("b")]), 2),
    "parallel": lambda: (ParallelAgent(name="all", sub_agents=[answering("a"), answering("b"), answering("c")]), 3),
    "graph": lambda: (Workflow(name="g", edges=[("START", answering("a"), answering("b"))]), 2),
}


@pytest.mark.parametrize("from_settings", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_calls_of_all_that_a_run_starts_count(tmp_path: Path, shape: str, from_settings: bool) -> None:
    agent, calls = SHAPES[shape]()
    limit = {"per": "run", "calls": 9}

    async def check() -> None:
        where = {"node": agent, "agent": None} if isinstance(agent, Workflow) else {"agent": agent}
        shop = Shop(**where, composed=distribution(tmp_path, limit) if from_settings else None)
        shop_config = None if from_settings else RunConfig(budgets=[limit])
        await shop.ask(run_config=shop_config)
        assert await shop.accounts() == {("run", "calls"): calls}

    asyncio.run(check())


@pytest.mark.parametrize("own", [True, False])
def test_summaries_count(tmp_path: Path, own: bool) -> None:
    summarizer = LlmEventSummarizer(llm=ScriptedModel(["Summed up."])) if own else None
    config = EventsCompactionConfig(compaction_interval=1, overlap_size=0, summarizer=summarizer)
    app = App(name="shop", root_agent=answering("a", "One.", "Summed up."), events_compaction_config=config)

    async def check() -> None:
        shop = Shop(None, distribution(tmp_path, {"per": "session", "calls": 9}), app=app)
        await shop.ask()
        assert await shop.accounts() == {("session", "calls"): 2}

    asyncio.run(check())


def test_a_failed_attempt_gives_back_what_it_did_not_use_and_a_retry_is_paid_once(tmp_path: Path) -> None:
    async def check() -> None:
        model = Parrot(script=[SERVICE.refused(429, "busy"), SERVICE.unconnected("refused"), "Hello"])
        shop = Shop(LlmAgent(name="a", model=model), distribution(tmp_path, {"per": "app", "money": 1, "calls": 9}))
        await shop.ask()
        assert model.calls == 3
        assert await shop.accounts() == {("app", "money"): dollars(COST), ("app", "calls"): 1}

    asyncio.run(check())


def test_a_request_whose_connection_broke_before_an_answer_counts_as_one_that_was_sent(tmp_path: Path) -> None:
    async def check() -> None:
        model = Parrot(script=[SERVICE.unreachable("reset"), "Hello"])
        shop = Shop(
            LlmAgent(name="a", model=model), distribution(tmp_path, {"per": "app", "tokens": 10**6, "calls": 9})
        )
        await shop.ask("word " * 100)
        spent = await shop.accounts()
        assert spent["app", "calls"] == model.calls == 2
        assert 1_180 <= spent["app", "tokens"] <= 1_400  # those of the answer, and an estimate of the first request

    asyncio.run(check())


def test_a_broken_stream_is_counted_by_what_came(tmp_path: Path) -> None:
    async def check() -> None:
        model = Parrot(script=[["word " * 100, SERVICE.cut_short()]])
        shop = Shop(
            LlmAgent(name="a", model=model), distribution(tmp_path, {"per": "app", "tokens": 10**6, "calls": 9})
        )
        with pytest.raises(ModelError, match="broke off"):
            await shop.ask(run_config=RunConfig(streaming_mode=StreamingMode.SSE))
        spent = await shop.accounts()
        assert spent["app", "calls"] == 1
        assert 80 <= spent["app", "tokens"] <= 300

    asyncio.run(check())


def test_at_a_limit_a_cheaper_model_answers_and_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cheaper = {"per": "app", "money": COST * 1.5, "at_limit": "cheaper"}
    last = {"per": "app", "calls": 4}
    settings = {"model_fallbacks": {"models": {"polly": ["scripted-budget:cheap"]}}}

    async def check() -> None:
        model = Parrot()
        shop = Shop(
            LlmAgent(name="a", model=model),
            distribution(tmp_path, cheaper, last, **settings),
            plugins=[_CheapModels()],
        )
        texts = [(await shop.ask())[-1].content.parts[0].text for _ in range(4)]  # type: ignore[union-attr,index]
        assert texts == ["Hello", "Hello", "Cheap.", "Cheap."]
        logged = [one.getMessage() for one in caplog.records if "answers instead of" in one.getMessage()]
        assert len(logged) == 2
        assert all("the budget of this app is used up" in one and "app/shop" not in one for one in logged)
        assert model.calls == 2
        with pytest.raises(BudgetExceededError, match="4 calls of 4 calls spent"):
            await shop.ask()
        assert (await shop.accounts())["app", "calls"] == 4

    asyncio.run(check())


class _CheapModels:
    """A provider of a cheap model."""

    @hookimpl
    def register_model_providers(self) -> list[ModelProvider]:
        return [ModelProvider(name="scripted-budget", create=lambda address: Parrot(model="cheap", script=["Cheap."]))]


def test_without_a_cheaper_model_the_limit_refuses(tmp_path: Path) -> None:
    async def check() -> None:
        limit = {"per": "app", "calls": 1, "at_limit": "cheaper"}
        shop = Shop(LlmAgent(name="a", model=Parrot()), distribution(tmp_path, limit))
        await shop.ask()
        with pytest.raises(BudgetExceededError):
            await shop.ask()

    asyncio.run(check())


def test_a_refused_call_is_not_tried_again(tmp_path: Path) -> None:
    tried: list[Exception] = []

    def note(error: Exception) -> bool:
        tried.append(error)
        return True

    async def check() -> None:
        retrying = ReflectAndRetryModelPlugin(max_retries=3, delay_seconds=0, retry_on=note)
        composed = distribution(tmp_path, {"per": "app", "calls": 1})
        shop = Shop(LlmAgent(name="a", model=Parrot()), composed, plugins=[retrying])
        await shop.ask()
        with pytest.raises(BudgetExceededError):
            await shop.ask()
        assert tried == []

    asyncio.run(check())


def test_money_needs_a_price_unless_a_model_is_not_networked(tmp_path: Path) -> None:
    async def check() -> None:
        composed = distribution(tmp_path, {"per": "app", "money": 1})
        shop = Shop(LlmAgent(name="a", model=Parrot(model="nobody-knows-this")), composed)
        with pytest.raises(ConfigurationError, match="whose price is not known"):
            await shop.ask()
        await Shop(LlmAgent(name="a", model=ScriptedModel("Free.")), composed).ask()

    asyncio.run(check())


@pytest.mark.parametrize("networked", [True, False])
def test_a_model_with_a_known_price_costs_it_whoever_calls_it(networked: bool) -> None:
    class Own(BaseLlm):
        """A model class of the user's own, under the name of a model that has a price."""

        model: str = "gpt-4o"
        networked: ClassVar[bool] = False

        async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
            yield LlmResponse()

    Own.networked = networked
    usage = token_usage(prompt=1_000_000, output=0)
    assert usage is not None
    pricing = Pricing(Settings(), Own(), LlmRequest())
    assert pricing.money(usage) > stored_amount("money", 0.01)
    assert pricing.most("money", 600) > 0


def test_a_store_without_budgets_is_refused(tmp_path: Path) -> None:
    class Elsewhere:
        """A session store of a stranger, in front of one in memory."""

        def __init__(self) -> None:
            self._inner = InMemorySessionService()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

    async def check() -> None:
        shop = Shop(
            LlmAgent(name="a", model=ScriptedModel("One.")),
            distribution(tmp_path, {"per": "app", "calls": 1}),
            session_service=Elsewhere(),
        )
        with pytest.raises(ConfigurationError, match="Elsewhere keeps no budgets"):
            await shop.ask()

    asyncio.run(check())


def test_a_cancelled_wait_and_a_cancelled_call_leave_no_hold(tmp_path: Path) -> None:
    started = asyncio.Event()

    class Slow(Parrot):
        async def _answers(self, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
            started.set()
            await asyncio.Event().wait()
            yield LlmResponse()

    async def check() -> None:
        shop = Shop(LlmAgent(name="a", model=Slow()), distribution(tmp_path, {"per": "app", "calls": 1}))
        first = asyncio.create_task(shop.ask())
        await asyncio.wait_for(started.wait(), 60)
        second = asyncio.create_task(shop.ask(session="t"))
        await asyncio.sleep(0.05)  # it waits for the first, which may use up what is left
        assert not second.done()
        second.cancel()
        first.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        assert await shop.accounts() == {("app", "calls"): 1}  # the first had been sent

    asyncio.run(check())


def test_a_call_that_was_held_though_the_answer_of_the_store_was_lost_gives_that_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve = MemoryLedger.reserve

    async def lost(*arguments: Any) -> Any:
        await reserve(*arguments)
        raise SessionError("the connection broke")

    monkeypatch.setattr(MemoryLedger, "reserve", lost)

    async def check() -> None:
        model = Parrot()
        shop = Shop(LlmAgent(name="a", model=model), distribution(tmp_path, {"per": "app", "calls": 1}))
        with pytest.raises(SessionError, match="the connection broke"):
            await shop.ask()
        assert model.calls == 0
        assert await shop.accounts() == {("app", "calls"): 0}

    asyncio.run(check())


@pytest.mark.parametrize("at", ["reserve", "call", "answer"])
def test_a_settlement_that_waits_for_other_writes_is_made_though_its_run_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    reserve, settle = MemoryLedger.reserve, MemoryLedger.settle
    reached, queued, free, ended = (asyncio.Event() for _ in range(4))

    async def reach() -> None:
        reached.set()
        await asyncio.Event().wait()

    async def reserving(*arguments: Any) -> Any:
        verdict = await reserve(*arguments)
        if at == "reserve":
            await reach()
        return verdict

    async def waiting(*arguments: Any) -> None:
        queued.set()
        try:
            await free.wait()
            await settle(*arguments)
        finally:
            ended.set()

    class Slow(Parrot):
        async def _answers(self, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
            if at == "call":
                await reach()
            async for response in super()._answers(request, stream):
                yield response

    monkeypatch.setattr(MemoryLedger, "reserve", reserving)
    monkeypatch.setattr(MemoryLedger, "settle", waiting)

    async def check() -> None:
        shop = Shop(LlmAgent(name="a", model=Slow()), distribution(tmp_path, {"per": "app", "calls": 5}))
        run = asyncio.create_task(shop.ask())
        if at != "answer":  # it is cancelled twice
            await asyncio.wait_for(reached.wait(), 60)
            run.cancel()
        await asyncio.wait_for(queued.wait(), 60)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        free.set()
        await asyncio.wait_for(ended.wait(), 60)
        assert await shop.accounts() == {("app", "calls"): int(at != "reserve")}

    asyncio.run(check())


ODD_USAGES: dict[str, Any] = {
    "more cached than sent": token_usage(prompt=10, output=5, cached=12),
    "a cost that is no number": Usage(prompt_token_count=10, candidates_token_count=5, cost=float("nan")),
}


@pytest.mark.parametrize("odd", ODD_USAGES)
def test_an_odd_report_of_usage_costs_its_plain_tokens_and_no_answer(tmp_path: Path, odd: str) -> None:
    plain = token_usage(prompt=10, output=5)
    assert plain is not None

    class Odd(Parrot):
        model: str = "gpt-4o"

        async def _answers(self, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
            yield LlmResponse(content=Content(role="model", parts=[Part(text="Hello")]), usage_metadata=ODD_USAGES[odd])

    async def check() -> None:
        shop = Shop(LlmAgent(name="a", model=Odd()), distribution(tmp_path, {"per": "app", "money": 1}))
        (event,) = await shop.ask()
        assert event.content is not None
        pricing = Pricing(Settings(), Odd(), LlmRequest())
        assert await shop.accounts() == {("app", "money"): pricing.money(plain)}

    asyncio.run(check())


def test_an_answer_that_has_no_price_any_more_counts_at_its_most() -> None:
    usage = token_usage(prompt=10, output=5)
    assert usage is not None
    pricing = Pricing(Settings(), Parrot(model="nobody-knows-this"), LlmRequest())
    assert pricing.amounts(usage, 0, None, calls=1, held=7)["money"] == 7
