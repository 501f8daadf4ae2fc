"""Live runs of an agent against a service, for the cases that go through a Runner."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from newel.agents import LiveRequestQueue, LlmAgent, RunConfig
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_compose import Composition, compose
from newel_kernel import Event
from newel_testkit.live.bench import Bench
from newel_testkit.live.connection import ScriptStep
from newel_types import Blob, Content

Input = Content | Blob


def add(a: int) -> dict[str, int]:
    """Add one."""
    return {"sum": a + 1}


@dataclass(slots=True)
class Outcome:
    """What a run yielded, what it stored, and what it raised."""

    events: list[Event] = field(default_factory=list)
    stored: list[Event] = field(default_factory=list)
    error: Exception | None = None
    #: How long leaving took, in seconds.
    leaving: float = 0.0

    def check(self) -> None:
        """Check that no event is there twice, and that each stored call has its one result."""
        for events in (self.events, self.stored):
            twice = [id_ for id_, times in Counter(event.id for event in events).items() if times > 1]
            assert not twice, f"duplicate events: {twice}"
        calls = [call.id for event in self.stored for call in event.get_function_calls()]
        results = [result.id for event in self.stored for result in event.get_function_responses()]
        assert calls == results, f"calls {calls} and results {results} do not pair"


@dataclass(frozen=True, slots=True)
class Talk:
    """What the user says, by how many turns the model has completed by then; and when the run is left."""

    says: Mapping[int, Sequence[Input]]
    turns: int = 1
    #: Leave the run at an event for which this is true; else after `turns` turns.
    until: Callable[[Event], bool] | None = None
    config: RunConfig = field(default_factory=lambda: RunConfig(response_modalities=["TEXT"]))
    distribution: str = "adk"
    #: Settings of the plugin ``live``.
    settings: Mapping[str, float] = field(default_factory=dict)
    #: How long the consumer takes over each event, in seconds.
    pause: float = 0.0


async def converse(bench: Bench, talk: Talk, *scripts: Sequence[ScriptStep]) -> Outcome:
    """A live run of an agent with the tool `add`; each script is for one connection."""
    for script in scripts:
        bench.server.connection(*script)
    model = bench.dialect.model(bench.server)
    sessions, queue, outcome = InMemorySessionService(), LiveRequestQueue(), Outcome()
    runner = Runner(
        app_name="live",
        agent=LlmAgent(name="root", model=model, instruction="Be brief.", tools=[add]),
        session_service=sessions,
        auto_create_session=True,
        composition=_composition(talk.distribution, tuple(talk.settings.items())),
    )
    run = runner.run_live(user_id="u", session_id="s", live_request_queue=queue, run_config=talk.config)
    try:
        async with aclosing(run):
            await _listen(run, queue, talk, outcome)
            left = asyncio.get_running_loop().time()
        outcome.leaving = asyncio.get_running_loop().time() - left
    except Exception as error:  # noqa: BLE001 - a case says whether there may be one
        outcome.error = error
    session = await sessions.get_session(app_name="live", user_id="u", session_id="s")
    outcome.stored = list(session.events) if session is not None else []
    bench.server.forget_scripts()
    return outcome


async def _listen(run: AsyncIterator[Event], queue: LiveRequestQueue, talk: Talk, outcome: Outcome) -> None:
    turns = 0
    _send(queue, talk.says.get(0, ()))
    async for event in run:
        outcome.events.append(event)
        if talk.pause:
            await asyncio.sleep(talk.pause)
        if event.turn_complete:
            turns += 1
            _send(queue, talk.says.get(turns, ()))
        if talk.until(event) if talk.until is not None else turns >= talk.turns and event.turn_complete:
            return


def _send(queue: LiveRequestQueue, inputs: Sequence[Input]) -> None:
    for one in inputs:
        if isinstance(one, Blob):
            queue.send_realtime(one)
        else:
            queue.send_content(one)


@cache
def _composition(distribution: str, settings: tuple[tuple[str, float], ...]) -> Composition:
    """Made once for all cases: nothing else that is installed takes part."""
    lines = [f"name: {distribution}_of_a_case", f"extends: {distribution}", "autoload: false"]
    if settings:
        lines += ["settings:", "  live:", *(f"    {name}: {value}" for name, value in settings)]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "case.yaml"
        file.write_text("\n".join(lines) + "\n")
        return compose(file)
