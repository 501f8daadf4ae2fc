"""Tasks in long conversations, in streams, and after a rewind."""

from __future__ import annotations

import asyncio
from typing import Any

from newel import Agent, App, Runner
from newel.agents import RunConfig
from newel.agents.run_config import StreamingMode
from newel.apps import BaseEventsSummarizer, EventsCompactionConfig
from newel.testing import ScriptedModel
from newel.types import Content, FunctionCall, Part
from newel_kernel import Event, EventActions, EventCompaction


class Summarizer(BaseEventsSummarizer):
    """Keeps what it was asked to summarise."""

    def __init__(self) -> None:
        self.prompts: list[list[str]] = []

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        self.prompts.append([part.text or "*" for event in events for part in event.content.parts])
        summary = EventCompaction(
            start_timestamp=events[0].timestamp,
            end_timestamp=events[-1].timestamp,
            compacted_content=Content(role="model", parts=[Part(text="so far")]),
        )
        return Event(author="user", actions=EventActions(compaction=summary))


def worker(*script: Any, **fields: Any) -> Agent:
    return Agent(name="worker", model=ScriptedModel([*script]), **fields)


def root(of: Agent, *script: Any) -> Agent:
    delegate = FunctionCall(name="worker", args={"request": "do"})
    return Agent(name="root", model=ScriptedModel([delegate, *script]), sub_agents=[of])


def finish() -> FunctionCall:
    return FunctionCall(name="finish_task", args={"result": "r"})


async def converse(app: App, *messages: str, config: RunConfig | None = None, rewind: bool = False) -> list[Event]:
    got: list[Event] = []
    async with Runner(app=app, auto_create_session=True, distribution="adk") as runner:
        for number, message in enumerate(messages):
            if rewind and number:
                await runner.session_service.append_event(
                    await runner.session_service.get_session(app_name="app", user_id="u", session_id="s"),
                    Event(
                        author="user",
                        invocation_id="e-rewind",
                        actions=EventActions(rewind_before_invocation_id=got[-1].invocation_id),
                    ),
                )
            events = runner.run_async(user_id="u", session_id="s", new_message=message, run_config=config)
            got += [event async for event in events]
    return got


def test_a_summary_leaves_out_what_is_said_in_a_task() -> None:
    summarizer = Summarizer()
    clerk = worker("secret question?", finish(), mode="task")
    config = EventsCompactionConfig(summarizer=summarizer, compaction_interval=2, overlap_size=0)
    app = App(name="app", root_agent=root(clerk, "all done", "more"), events_compaction_config=config)
    asyncio.run(converse(app, "go", "secret answer", "next"))
    assert summarizer.prompts == [["go", "*", "*", "all done"]]
    assert clerk.model.requests[-1].contents[-1].parts[0].text == "secret answer"


def test_chunks_of_a_delegate_are_streamed() -> None:
    for mode, last in (("single_turn", "one two"), ("task", [Part(text="x"), Part(function_call=finish())])):
        texts = [["one ", "two"]] if mode == "single_turn" else [["one ", "two"], last]
        clerk = worker(*texts, mode=mode)
        app = App(name="app", root_agent=root(clerk, "all done"))
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        messages = ["go"] if mode == "single_turn" else ["go", "on"]
        events = asyncio.run(converse(app, *messages, config=config))
        chunks = [event for event in events if event.partial]
        assert [event.content.parts[0].text for event in chunks] == ["one ", "two"]
        scope = None if mode == "single_turn" else events[0].get_function_calls()[0].id
        assert {(event.author, event.isolation_scope) for event in chunks} == {("worker", scope)}
        assert events[-1].content.parts[0].text == "all done"


def test_a_rewound_task_is_forgotten() -> None:
    clerk = worker("which one?", mode="task")
    app = App(name="app", root_agent=root(clerk, "hello again"))
    events = asyncio.run(converse(app, "go", "something else", rewind=True))
    assert (events[-1].author, events[-1].content.parts[0].text) == ("root", "hello again")
