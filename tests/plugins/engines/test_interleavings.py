"""Whatever happens to runs at the same time: each ends, an accepted answer acts once, a refused one leaves no trace."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from newel.engines import OVER, EngineWorker, InlineEngine, RunRecord, RunState, SpecRefusedError, SubmittedRun
from newel.sessions import InMemorySessionService
from newel.testing.engines.clerk import make_file, noted
from newel.testing.engines.place import EnginePlace, answers, open_calls, state, until
from newel_kernel import Event, Session

_NUMBERS = st.integers(0, 2)
#: A step, its number or run, and whether the next step waits for its end.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.sampled_from(["pay", "hang", "hello"]), st.sampled_from([None, None, 0.05])),
        st.tuples(st.just("answer"), _NUMBERS, st.booleans()),
        st.tuples(st.just("answer"), st.just(0), st.booleans()),
        st.tuples(st.just("cancel"), _NUMBERS, st.none()),
        st.tuples(st.just("signal"), _NUMBERS, st.none()),
        st.tuples(st.just("retry"), _NUMBERS, st.none()),
        st.tuples(st.just("open"), _NUMBERS, st.none()),
        st.tuples(st.just("drain"), st.none(), st.none()),
        st.tuples(st.just("sleep"), st.sampled_from([0, 0.001, 0.01, 0.06]), st.none()),
    ).flatmap(lambda step: st.tuples(st.just(step), st.booleans())),
    min_size=3,
    max_size=14,
)


class _Slow(InMemorySessionService):
    """A store that others come between, as one in a database."""

    async def open(self, **where: Any) -> Session | None:
        await asyncio.sleep(0)
        return await super().open(**where)

    async def append_out_of_band(self, **arguments: Any) -> Event:
        await asyncio.sleep(0.003)
        return await super().append_out_of_band(**arguments)


class _World:
    """Runs, each of a session of its own, and what was done to them."""

    def __init__(self, place: EnginePlace) -> None:
        self.place = place
        self.runs: list[SubmittedRun] = []
        self.files: list[str] = []
        #: By run: the questions that were seen.
        self.asked: dict[int, set[str]] = {}
        #: By run: the answers that were accepted, and what else has happened to it.
        self.accepted: dict[int, list[bool]] = {}
        self.workers: list[EngineWorker] = []
        self.done: Counter[tuple[str, int]] = Counter()

    async def submit(self, kind: str, seconds: float | None) -> None:
        file = self.place.file()
        message = kind if kind == "hello" else f"{kind} {file}"
        run = await self.place.submit(message, seconds=seconds)
        self.runs.append(run)
        self.files.append(file)

    async def answer(self, number: int, confirmed: bool) -> None:
        if number >= len(self.runs):
            return
        asked = self.asked.setdefault(number, set())
        asked |= {one.id for one in await self.place.questions(self.runs[number])}
        for question in sorted(asked):  # those that are answered, too
            try:
                await self.place.answer(self.runs[number], question, confirmed=confirmed)
            except SpecRefusedError:
                continue
            self.accepted.setdefault(number, []).append(confirmed)

    async def change(self, what: str, number: int) -> None:
        if number < len(self.runs):
            self.done[what, number] += 1
            if what == "cancel":
                await self.runs[number].cancel()
            elif what == "open":
                make_file(self.files[number])
            else:
                await getattr(self.place.engine, what)(self.runs[number].key)

    async def drain(self) -> None:
        """A worker leaves, another one comes."""
        leaving = [self.workers.pop()] if self.workers else []
        worker, *_ = await asyncio.gather(self.place.worker(), *(one.drain(0) for one in leaving))
        self.workers.append(worker)

    async def step(self, what: str, first: Any, second: Any) -> None:
        if what == "submit":
            await self.submit(first, second)
        elif what == "answer":
            await self.answer(first, second)
        elif what == "drain":
            await self.drain()
        elif what == "sleep":
            await asyncio.sleep(first)
        else:
            await self.change(what, first)

    async def check(self) -> None:
        """Let everything end, then look."""
        if not self.workers:
            await self.drain()
        for file in self.files:
            make_file(file)

        async def holds() -> bool:
            for number in range(len(self.runs)):
                if (await self.runs[number].record()).state is RunState.PAUSED:
                    await self.answer(number, True)
            return all([(await run.record()).state in OVER for run in self.runs])

        await until(holds, "not every run ends")
        for number, run in enumerate(self.runs):
            await self.look(number, await state(run, *OVER), await self.place.events(run))

    async def look(self, number: int, record: RunRecord, events: list[Event]) -> None:
        of_user = [event for event in events if event.author == "user"]
        replies = Counter(one.id for event in of_user for one in event.get_function_responses())
        accepted, paid = self.accepted.get(number, []), len(noted(self.files[number]))
        what = f"{record.state} ({record.reason}), accepted {accepted}, paid {paid}, {replies}"
        assert sum(bool(event.text) for event in of_user) == bool(events), what
        assert open_calls(events) == set(), what
        assert await self.place.questions(self.runs[number]) == [], what
        assert len(accepted) <= 1, what
        assert all(count == 1 for count in replies.values()), what
        assert paid <= (accepted == [True]), what
        if record.state is RunState.ENDED:
            cut = self.done["cancel", number] or self.runs[number].spec.seconds is not None  # before a retry
            assert answers(events) == 1, what
            assert cut or paid == (accepted == [True]), what


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_every_run_ends_and_what_was_accepted_acts_once(steps: list[tuple[tuple[str, Any, Any], bool]]) -> None:
    async def main() -> None:
        place = EnginePlace(InlineEngine, _Slow, "shop")
        world, tasks = _World(place), []
        try:
            await world.drain()
            await world.submit("pay", None)
            await state(world.runs[0], RunState.PAUSED)
            for step, waits in steps:
                task = asyncio.create_task(world.step(*step))
                tasks.append(task)
                if waits:
                    await task
            await asyncio.gather(*tasks)
            await world.check()
        finally:
            await place.close()

    asyncio.run(main())
