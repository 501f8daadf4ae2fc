"""Calls of models wait for their turn, and runs for their tenant's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

import pytest
from redis import Redis

from newel.agents import LlmAgent, RunConfig
from newel.apps import App
from newel.engines import AgentWork, InlineEngine, RunState
from newel.limits import LimitExceededError, NotAdmittedError, admitted, gates_of
from newel.limits.gates import Waiting, gate_id
from newel.models import BaseLlm
from newel.models.kinds import ModelPolicy
from newel.runners import Runner
from newel.sessions import InMemorySessionService, StoreUnavailableError
from newel_compose import compose
from newel_kernel import BaseSessionService, ConfigurationError, LlmRequest, LlmResponse
from newel_redis import RedisGates
from newel_redis import plugin as redis_plugin
from newel_types import Content, Part

LONG = 3_600.0


class Slow(BaseLlm):
    """Answers once it is told to, and notes how many calls it has at a time."""

    model: str = "slow"
    now: int = 0
    most: int = 0
    calls: int = 0
    seconds: float = 0.02
    #: Answers do not come before this is set.
    opened: Any = None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.now += 1
        self.calls += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
            if self.opened is not None:
                await self.opened.wait()
        finally:
            self.now -= 1
        yield LlmResponse(content=Content(role="model", parts=[Part(text="done")]))


def runner_of(
    model: Slow, limits: dict[str, Any], service: BaseSessionService, kept: str | None = None, **more: Any
) -> Runner:
    base = compose("standard").distribution
    services = {**base.services, "limits": kept} if kept else base.services
    settings = {**base.settings, "limits": limits}
    composition = compose(base.model_copy(update={"settings": settings, "services": services}), plugins=[redis_plugin])
    app = App(name="shop", root_agent=LlmAgent(name="clerk", model=model))
    return Runner(app=app, session_service=service, composition=composition, auto_create_session=True, **more)


async def talk(runner: Runner, session: str) -> list[str | None]:
    events = runner.run_async(user_id="ada", session_id=session, new_message="tea")
    return [event.text async for event in events]


def test_a_model_has_only_so_many_calls_at_a_time(make_sessions: Any) -> None:
    async def main() -> None:
        model, service = Slow(), make_sessions()
        runner = runner_of(model, {"models": {"slow": {"concurrency": 2}}}, service)
        async with asyncio.timeout(60):
            answers = await asyncio.gather(*(talk(runner, f"s{number}") for number in range(7)))
        assert answers == [["done"]] * 7
        assert (model.most <= 2, model.calls) == (True, 7)
        assert (await gates_of(service).enter(gate_id("model", "slow"), "x", 1, LONG, Waiting(0, 0))).held
        await service.close()

    asyncio.run(main())


def test_a_call_that_has_no_turn_in_time_fails_and_gives_its_place_up() -> None:
    async def main() -> None:
        model, service = Slow(), InMemorySessionService()
        limits = {"models": {"*": {"concurrency": 1, "calls_per_second": 0.001}}, "wait_seconds": 0.1}
        runner = runner_of(model, limits, service)
        gates, gate = gates_of(service), gate_id("model", "slow")
        assert (await gates.enter(gate, "somebody", 1, LONG, Waiting(0, 0))).held
        with pytest.raises(LimitExceededError, match="1 at a time") as caught:
            await talk(runner, "s")
        assert caught.value.code == "LIMIT_EXCEEDED"
        await gates.leave(gate, "somebody")
        assert await talk(runner, "t") == ["done"]
        with pytest.raises(LimitExceededError, match=r"0\.001 calls per second"):
            await talk(runner, "u")
        assert model.calls == 1
        assert (await gates.enter(gate, "x", 1, LONG, Waiting(0, 0))).held

    asyncio.run(main())


def test_settings_are_checked_and_without_any_there_is_no_policy() -> None:
    base = compose("standard")
    assert "limits" not in [policy.name for policy in base.registry.all(ModelPolicy)]
    assert "limits" not in [step.name for step in base.request_steps]
    wrong: list[dict[str, Any]] = [
        {"tenants": {"a": {"concurrency": 0}}},
        {"models": {"a": {"calls_per_second": -1}}},
        {"model": {}},
        {"lease_seconds": 0},
    ]
    for settings in wrong:
        distribution = base.distribution
        with pytest.raises(ConfigurationError, match="limits"):
            compose(distribution.model_copy(update={"settings": {**distribution.settings, "limits": settings}}))


async def until(holds: Any) -> None:
    async with asyncio.timeout(60):
        while not await holds():
            await asyncio.sleep(0.02)


def test_a_tenant_at_its_limit_waits_and_blocks_nobody(make_sessions: Any) -> None:
    async def main() -> None:
        service, engine = make_sessions(), InlineEngine()
        opened = asyncio.Event()
        models = {"big": Slow(opened=opened), "small": Slow()}
        runners = {}
        for name, model in models.items():
            runners[name] = runner_of(model, {"tenants": {"*": {"concurrency": 2}}}, service, engine=engine)
            runners[name].app_name = name
        work = AgentWork(runners.values())
        worker = engine.worker(work, work.queues, concurrency=3)
        await worker.start()
        runs = []
        for number in range(9):
            name = "small" if number == 8 else "big"
            where = {"user_id": "ada", "session_id": f"s{number}"}
            runs.append(await runners[name].submit(**where, new_message="tea", tenant=name))

        async def over(count: int) -> bool:
            return len([run for run in runs if (await run.record()).state is RunState.ENDED]) >= count

        async def last() -> bool:
            return (await runs[-1].record()).state is RunState.ENDED

        await until(last)  # while two of the others hang, and six are in line
        assert models["big"].most <= 2
        opened.set()
        await until(lambda: over(9))
        assert (models["big"].most <= 2, models["big"].calls, models["small"].calls) == (True, 8, 1)
        assert {(await run.record()).attempts for run in runs} == {1}
        await worker.drain(0)
        await engine.close()
        await service.close()

    asyncio.run(main())


def test_a_run_that_waits_for_its_tenant_says_so_and_can_be_cancelled() -> None:
    async def main() -> None:
        service, engine, model = InMemorySessionService(), InlineEngine(), Slow()
        runner = runner_of(model, {"tenants": {"t": {"concurrency": 1}}}, service, engine=engine)
        gates, gate = gates_of(service), gate_id("tenant", "t")
        assert (await gates.enter(gate, "somebody", 1, LONG, Waiting(0, 0))).held
        work = AgentWork([runner])
        worker = engine.worker(work, work.queues, concurrency=1)
        await worker.start()
        waits = await runner.submit(user_id="ada", session_id="s", new_message="tea", tenant="t")
        free = await runner.submit(user_id="ada", session_id="u", new_message="tea")

        async def told() -> bool:
            return "'t'" in (await waits.record()).reason

        async def ended() -> bool:
            return (await free.record()).state is RunState.ENDED

        await until(told)
        await until(ended)
        await waits.cancel()

        async def cancelled() -> bool:
            return (await waits.record()).state is RunState.CANCELLED

        await until(cancelled)
        assert model.calls == 1
        await worker.drain(0)
        await engine.close()

    asyncio.run(main())


def test_a_distribution_names_who_keeps_limits(redis_gates: str) -> None:
    """Two services that share nothing but Redis, in two runners."""

    async def main() -> None:
        model, limits = Slow(), {"models": {"slow": {"concurrency": 2}}}
        runners = [runner_of(model, limits, InMemorySessionService(), redis_gates) for _ in range(2)]
        async with asyncio.timeout(60):
            answers = await asyncio.gather(*(talk(runners[number % 2], f"s{number}") for number in range(7)))
        assert answers == [["done"]] * 7
        assert (model.most <= 2, model.calls) == (True, 7)

        tenants: dict[str, Any] = {"tenants": {"*": {"concurrency": 1}}}
        runner = runner_of(Slow(), tenants, InMemorySessionService(), redis_gates, engine=InlineEngine())
        gates = gates_of(runner.session_service, runner.composition)
        assert (await gates.enter(gate_id("tenant", "t"), "elsewhere", 1, LONG, Waiting(0, 0))).held
        with pytest.raises(NotAdmittedError, match="number 1 of the line"):
            async with admitted(runner.composition, runner.session_service, "t", "run", lambda: None):
                pass

    asyncio.run(main())


def test_closing_a_runner_closes_its_connections_to_what_keeps_limits(redis_gates: str) -> None:
    """Also if each of its runs has a composition of its own; others that are under way are not disturbed."""

    async def main() -> None:
        name = f"test-{uuid4().hex}"
        uri, limits = f"{redis_gates}&client_name={name}", {"models": {"slow": {"concurrency": 2}}}

        def connections() -> int:
            with Redis.from_url(redis_gates.partition("?")[0]) as client:
                return sum(one["name"] == name for one in client.client_list())

        other = runner_of(Slow(seconds=1.0), limits, InMemorySessionService(), uri)
        talking = asyncio.create_task(talk(other, "s"))
        async with runner_of(Slow(), limits, InMemorySessionService(), uri) as runner:
            assert await talk(runner, "s") == ["done"]
            budgets = RunConfig(budgets=[{"per": "session", "calls": 3}])
            where = {"user_id": "ada", "session_id": "s", "run_config": budgets}
            assert [one.text async for one in runner.run_async(**where, new_message="tea")] == ["done"]
        assert await talking == ["done"]
        assert connections() > 0
        await other.close()
        await asyncio.sleep(0.05)
        assert connections() == 0

    asyncio.run(main())


def test_a_redis_that_is_away_is_said_to_be() -> None:
    async def main() -> None:
        gates = RedisGates.opened("redis://:secret@127.0.0.1:1/0?patience=0.1")
        with pytest.raises(StoreUnavailableError, match=r"redis://.*127\.0\.0\.1:1/0.* 0\.1 seconds") as caught:
            await gates.leave("g", "t")
        assert "secret" not in str(caught.value)

    asyncio.run(main())
    for wrong in ("redis://h?patience=soon", "redis://h?patience=0", "redis://h?no_such=1"):
        with pytest.raises(ConfigurationError):
            RedisGates.opened(wrong)
