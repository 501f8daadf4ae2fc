"""The context budget where others write at the same time: a store's thread, and agents in parallel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.flows.test_context_budget import Scripted, call, distribution, page, say

from newel.agents import LlmAgent, ParallelAgent
from newel.apps.app import App, EventsCompactionConfig
from newel.apps.llm_event_summarizer import LlmEventSummarizer
from newel.flows.context_budget.occupancy import Occupancy
from newel.flows.history import History
from newel.models import BaseLlm, LlmResponse
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel_kernel import Event, EventActions, EventCompaction, LlmRequest
from newel_types import Content, FunctionResponse, Part


class Growing(list[Event]):
    """A log to which a store's thread adds an event each time after it was copied, as long as there are some."""

    def __init__(self, events: Iterable[Event], coming: Iterable[Event]) -> None:
        super().__init__(events)
        self.coming = list(coming)

    def _grow(self) -> None:
        if self.coming:
            self.append(self.coming.pop(0))

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if isinstance(index, slice):
            self._grow()
        return found

    def __iter__(self) -> Any:
        found = iter(list(super().__iter__()))
        self._grow()
        return found


def said(author: str, text: str, at: float = 1.0) -> Event:
    content = Content(role="user" if author == "user" else "model", parts=[Part(text=text)])
    return Event(author=author, content=content, timestamp=at)


def late_answer() -> list[Event]:
    """Events that are built as a whole: a response that does not follow its call."""
    called = Event(author="a", content=Content(role="model", parts=[call("page", "c1", number=1)]))
    response = FunctionResponse(id="c1", name="page", response={"page": 1})
    answered = Event(author="user", content=Content(role="user", parts=[Part(function_response=response)]))
    return [said("user", "Begin."), called, said("user", "And?"), answered]


@pytest.mark.parametrize("first", [[said("user", "Begin.")], late_answer()], ids=["appended", "built as a whole"])
def test_a_log_that_grows_while_it_is_read_is_read_whole_the_next_time(first: list[Event]) -> None:
    later = [said("a" if number % 2 else "user", f"Text {number}. " * 30) for number in range(8)]
    history = History("a", None, None)
    occupancy = Occupancy(history, ("a", None, None), 300)
    log = Growing(first, later)
    while log.coming:
        occupancy.update(log)
    occupancy.update(log)
    fresh = History("a", None, None)
    expected = Occupancy(fresh, ("a", None, None), 300)
    expected.update([*first, *later])
    assert history.update(log) == fresh.update([*first, *later])
    assert occupancy.tokens() == expected.tokens()


class Summarizer(BaseLlm):
    """Writes a summary once the other agent's request was built, if it waits for that."""

    model: str = "summarizer"
    waits_for: Any = None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        if self.waits_for is not None:
            await asyncio.wait_for(self.waits_for.wait(), 60)
        yield LlmResponse(content=Content(role="model", parts=[Part(text="SUMMARY")]))


def last_turn(folder: Path, *, summary_is_late: bool) -> dict[str, list[dict[str, Any]]]:
    """What each of two agents in parallel is sent, one of which needs a summary: before the other asks, or after."""
    seen: dict[str, list[dict[str, Any]]] = {}

    async def main() -> None:
        asked = {"wordy": asyncio.Event(), "brief": asyncio.Event()}

        def agent(name: str, words: int, before: Any = None) -> LlmAgent:
            def answer(request: LlmRequest, turn: int) -> list[Part]:
                seen[name] = [one.model_dump(mode="json", exclude_none=True) for one in request.contents]
                asked[name].set()
                return [Part(text=f"{name} {turn}: {'a story of the sea ' * words}")]

            return LlmAgent(name=name, model=Scripted(answer=answer), tools=[page], before_agent_callback=before)

        async def wait(callback_context: Any) -> None:
            await asyncio.wait_for(asked["wordy"].wait(), 60)

        brief = agent("brief", 1, None if summary_is_late else wait)
        compaction = EventsCompactionConfig(
            summarizer=LlmEventSummarizer(llm=Summarizer(waits_for=asked["brief"] if summary_is_late else None)),
            compaction_interval=10_000,
            overlap_size=0,
        )
        root = ParallelAgent(name="pair", sub_agents=[agent("wordy", 400), brief])
        app = App(name="app", root_agent=root, events_compaction_config=compaction)
        service = InMemorySessionService()
        runner = Runner(app=app, session_service=service, distribution=str(distribution(folder, window=12_000)))
        session = await service.create_session(app_name="app", user_id="u")
        for number in range(7):
            for one in asked.values():
                one.clear()
            await say(runner, session.id, [Part(text=f"U{number}.")])

    asyncio.run(main())
    return seen


def texts(contents: list[dict[str, Any]]) -> list[str]:
    return [part.get("text", "") for one in contents for part in one["parts"]]


def test_a_summary_that_an_agent_in_parallel_needs_is_not_seen_by_the_other(tmp_path: Path) -> None:
    early, late = (last_turn(tmp_path, summary_is_late=late) for late in (False, True))
    assert early == late
    assert any("SUMMARY" in text for text in texts(early["wordy"]))
    assert not any("SUMMARY" in text for text in texts(early["brief"]))
    assert [text for text in texts(early["brief"]) if text.startswith("U")] == [f"U{number}." for number in range(7)]


def test_a_summary_of_a_branch_covers_what_is_seen_there_alone() -> None:
    """An agent that sees both branches has the summary of the one, and what was said on the other."""
    events = [said("user", "Begin.", 1.0), said("one", "From one.", 2.0), said("two", "From two.", 3.0)]
    events[1].branch, events[2].branch = "pair.one", "pair.two"
    compaction = EventCompaction(
        start_timestamp=1.0,
        end_timestamp=3.0,
        compacted_content=Content(role="model", parts=[Part(text="In short.")]),
    )
    summary = Event(author="user", branch="pair.one", actions=EventActions(compaction=compaction), timestamp=4.0)
    events.append(summary)
    shown = {
        branch: " ".join(
            part.text or "" for one in History("x", branch, None).update(events) for part in one.parts or ()
        )
        for branch in (None, "pair.one", "pair.two")
    }
    assert "In short." in str(shown[None])
    assert "From two." in str(shown[None])
    assert "From one." not in str(shown[None])
    assert "In short." in shown["pair.one"]
    assert "Begin." not in shown["pair.one"]
    assert "In short." not in shown["pair.two"]
    assert "Begin." in shown["pair.two"]
