"""Compaction: which events a summary takes in, when it is written, and what the model then sees."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from newel.agents import BaseAgent, LlmAgent, ParallelAgent, SequentialAgent
from newel.apps import App, BaseEventsSummarizer, EventsCompactionConfig, LlmEventSummarizer
from newel.flows.summaries import compacted
from newel.testing import Conversation, ScriptedModel
from newel_kernel import Event, EventActions, EventCompaction, LlmResponse
from newel_types import Content, FunctionCall, FunctionResponse, Part


class Counter(BaseEventsSummarizer):
    """Says how many events it was given, and keeps what they said."""

    def __init__(self) -> None:
        self.inputs: list[list[Any]] = []

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        self.inputs.append([said(event) for event in events])
        summary = Content(role="model", parts=[Part(text=f"summary of {len(events)}")])
        return Event(
            author="user",
            actions=EventActions(
                compaction=EventCompaction(
                    start_timestamp=events[0].timestamp,
                    end_timestamp=events[-1].timestamp,
                    compacted_content=summary,
                )
            ),
        )


def said(event: Event) -> Any:
    part = event.content.parts[0] if event.content is not None and event.content.parts else None
    if part is None:
        return None
    if part.function_call is not None:
        return f"call {part.function_call.name}"
    return part.text or "result"


class Desk(Conversation):
    """An app whose sessions are compacted, and one session of it."""

    distribution = "adk"

    def __init__(self, steps: Sequence[Any], *, root: BaseAgent | None = None, tools: Any = (), **config: Any) -> None:
        agent = LlmAgent(name="clerk", model=ScriptedModel(steps), tools=list(tools))
        self.summarizer = Counter()
        config.setdefault("summarizer", self.summarizer)
        self.app = App(name="desk", root_agent=root or agent, events_compaction_config=EventsCompactionConfig(**config))
        super().__init__(self.app, distribution=self.distribution, user_id="ada", session_id="s1")

    async def send_all(self, *messages: str) -> list[Event]:
        return [event for message in messages for event in await self.send(message)]

    async def events(self) -> list[Event]:
        return (await self.stored()).events

    def last_request(self) -> list[str]:
        contents = self.requests[-1].contents
        return [" ".join(part.text for part in content.parts or () if part.text) for content in contents]


def test_a_summary_every_few_invocations() -> None:
    async def main() -> None:
        desk = Desk(["r1", "r2", "r3", "r4", "r5"], compaction_interval=2, overlap_size=1)
        yielded = await desk.send_all("m1", "m2", "m3", "m4", "m5")
        assert desk.summarizer.inputs == [["m1", "r1", "m2", "r2"], ["m2", "r2", "m3", "r3", "m4", "r4"]]
        assert all(event.touched_actions is None for event in yielded)
        assert [said(event) for event in await desk.events()].count(None) == 2
        assert desk.last_request() == [
            "For context: [model] said: summary of 4",
            "For context: [model] said: summary of 6",
            "m5",
        ]

    asyncio.run(main())


@pytest.mark.parametrize("kind", [SequentialAgent])
def test_every_kind_of_root_is_compacted(kind: Any) -> None:
    async def main() -> None:
        inner = LlmAgent(name="inner", model=ScriptedModel(["r1", "r2", "a summary"]))
        root = kind(name="outer", sub_agents=[inner])
        desk = Desk([], root=root, compaction_interval=2, overlap_size=0, summarizer=None)
        await desk.send_all("m1", "m2")
        compaction = (await desk.events())[-1].actions.compaction
        assert compaction is not None
        assert compaction.compacted_content.parts[0].text == "a summary"

    asyncio.run(main())


def test_what_waits_for_a_result_is_left_out() -> None:
    async def wait() -> None:
        """Wait."""

    async def main() -> None:
        from newel_kernel import seam

        desk = Desk(["r1", "r2"], compaction_interval=2, overlap_size=0)
        await desk.send_all("m1")
        service = desk.runner.session_service
        session = await service.get_session(app_name="desk", user_id="ada", session_id="s1")
        assert session is not None
        call = Part(function_call=FunctionCall(id="c", name="wait"))
        event = Event(author="clerk", invocation_id="e", content=Content(role="model", parts=[call]))
        event.timestamp = seam.clock()
        await service.append_event(session, event)
        await desk.send_all("m2")
        assert desk.summarizer.inputs == [["m1", "r1", "m2", "r2"]]

    asyncio.run(main())


def test_what_was_rewound_is_not_summarised() -> None:
    async def main() -> None:
        desk = Desk(["r1", "r2", "r3"], compaction_interval=2, overlap_size=0)
        first = await desk.send_all("m1")
        await desk.runner.rewind_async(
            user_id="ada", session_id="s1", rewind_before_invocation_id=first[0].invocation_id
        )
        await desk.send_all("m2")
        assert desk.summarizer.inputs == []
        await desk.send_all("m3")
        assert desk.summarizer.inputs == [["m2", "r2", "m3", "r3"]]

    asyncio.run(main())


def test_nothing_is_compacted_after_a_failure() -> None:
    async def main() -> None:
        desk = Desk(["r1", ValueError("no")], compaction_interval=1, overlap_size=0)
        await desk.send_all("m1")
        with pytest.raises(ValueError, match="no"):
            await desk.send_all("m2")
        assert len(desk.summarizer.inputs) == 1

    asyncio.run(main())


def counted(text: str, tokens: int) -> LlmResponse:
    return LlmResponse(
        content=Content(role="model", parts=[Part(text=text)]),
        usage_metadata={"prompt_token_count": tokens},  # type: ignore[arg-type]
    )


def test_a_long_prompt_is_compacted_and_the_latest_events_stay() -> None:
    async def main() -> None:
        steps = [counted("r1", 10), counted("r2", 100), counted("r3", 10), counted("r4", 100)]
        desk = Desk(steps, token_threshold=100, event_retention_size=1)
        await desk.send_all("m1", "m2")
        assert desk.summarizer.inputs == [["m1", "r1", "m2"]]
        await desk.send_all("m3")
        assert desk.last_request() == ["For context: [model] said: summary of 3", "r2", "m3"]
        await desk.send_all("m4")
        assert desk.summarizer.inputs[1:] == [["summary of 3", "r2", "m3", "r3", "m4"]]

    asyncio.run(main())


def test_the_last_summary_takes_the_place_of_those_before() -> None:
    async def main() -> None:
        steps = [counted("r1", 100), counted("r2", 100), counted("r3", 1)]
        desk = Desk(steps, token_threshold=50, event_retention_size=0)
        await desk.send_all("m1", "m2", "m3")
        assert desk.summarizer.inputs == [["m1", "r1"], ["summary of 2", "m2", "r2"]]
        assert desk.last_request() == ["For context: [model] said: summary of 3", "m3"]

    asyncio.run(main())


def test_a_prompt_that_nobody_counted_is_estimated() -> None:
    async def main() -> None:
        desk = Desk(["r1", "r2"], token_threshold=100, event_retention_size=0)
        await desk.send_all("m" * 600)
        assert len(desk.summarizer.inputs) == 1
        await desk.send_all("short")
        assert len(desk.summarizer.inputs) == 1

    asyncio.run(main())


def test_results_count_in_the_estimate() -> None:
    def look() -> str:
        """Look."""
        return "x" * 1000

    async def main() -> None:
        desk = Desk([{"call": "look"}, "done"], tools=[look], token_threshold=200, event_retention_size=0)
        await desk.send_all("short")
        assert desk.summarizer.inputs == [["short", "call look", "result"]]

    asyncio.run(main())


def test_a_long_turn_is_compacted_between_its_steps() -> None:
    def look() -> str:
        """Look."""
        return "x" * 1000

    async def main() -> None:
        desk = Desk([{"call": "look"}, "done"], tools=[look], token_threshold=100, event_retention_size=2)
        await desk.send_all("m" * 600)
        assert desk.summarizer.inputs[0] == ["m" * 600]
        assert desk.last_request() == ["For context: [model] said: summary of 1", "", ""]

    asyncio.run(main())


def test_a_call_and_its_result_are_not_parted() -> None:
    def look() -> str:
        """Look."""
        return "x"

    async def main() -> None:
        desk = Desk([{"call": "look"}, counted("done", 500)], tools=[look], token_threshold=500, event_retention_size=2)
        await desk.send_all("m1")
        assert desk.summarizer.inputs == [["m1"]]

    asyncio.run(main())


def test_a_model_writes_the_summary() -> None:
    async def main() -> None:
        model = ScriptedModel([LlmResponse(content=Content(role="user", parts=[Part(text="short")]))])
        events = [
            Event(author="user", message="hello", timestamp=1.0),
            Event(author="clerk", content=Content(parts=[Part(function_call=FunctionCall(name="f", args={"a": 1}))])),
            Event(
                author="clerk",
                content=Content(parts=[Part(function_response=FunctionResponse(name="f", response={"r": "y" * 600}))]),
            ),
            Event(author="clerk", message="{braces}", timestamp=2.0),
        ]
        summary = await LlmEventSummarizer(model, "Sum: {conversation_history}").maybe_summarize_events(events=events)
        assert summary is not None
        assert summary.author == "user"
        compaction = summary.actions.compaction
        assert compaction is not None
        assert (compaction.start_timestamp, compaction.end_timestamp) == (1.0, 2.0)
        assert compaction.compacted_content.role == "model"
        prompt = model.requests[0].contents[0].parts[0].text
        assert prompt.startswith("Sum: user: hello\nclerk called f({'a': 1})\nf returned {'r': 'yyy")
        assert prompt.endswith("…\nclerk: {braces}")

    asyncio.run(main())


def test_a_model_without_an_answer_writes_no_summary() -> None:
    async def main() -> None:
        event = Event(author="user", message="hello")
        summarizer = LlmEventSummarizer(ScriptedModel([LlmResponse(error_code="SAFETY")]))
        assert await summarizer.maybe_summarize_events(events=[]) is None
        assert await summarizer.maybe_summarize_events(events=[event]) is None

    asyncio.run(main())


def summary(start: float, end: float, text: str) -> Event:
    content = Content(role="model", parts=[Part(text=text)])
    compaction = EventCompaction(start_timestamp=start, end_timestamp=end, compacted_content=content)
    return Event(author="user", timestamp=99.0, actions=EventActions(compaction=compaction))


@pytest.mark.parametrize(
    ("summaries", "expected"),
    [
        ([(1, 2, "a")], ["a", 3.0, 4.0]),
        ([(2, 3, "a")], [1.0, "a", 4.0]),
        ([(1, 2, "a"), (3, 4, "b")], ["a", "b"]),
        ([(1, 2, "a"), (2, 4, "b")], ["a", "b"]),
        ([(1, 2, "a"), (1, 3, "b")], ["b", 4.0]),
        ([(1, 3, "a"), (1, 3, "b")], ["b", 4.0]),
        ([(0, 0, "a")], ["a", 1.0, 2.0, 3.0, 4.0]),
    ],
)
def test_a_summary_stands_where_its_range_ends(summaries: list[tuple[float, float, str]], expected: list[Any]) -> None:
    events = [Event(author="user", message=str(at), timestamp=at) for at in (1.0, 2.0, 3.0, 4.0)]
    compacted_events = compacted([*events, *(summary(*one) for one in summaries)])
    assert [said(e) if e.touched_actions is not None else e.timestamp for e in compacted_events] == expected


def test_events_after_a_summary_stay_whatever_the_clock_says() -> None:
    late = Event(author="user", message="late", timestamp=1.5)
    assert compacted([Event(author="user", message="x", timestamp=1.0), summary(1.0, 2.0, "a"), late])[-1] is late


def look() -> str:
    """Look."""
    return "x" * 1000


class SafeDesk(Desk):
    """The same with the policies of `standard`."""

    distribution = "standard"


def test_a_turn_under_way_keeps_its_message_and_its_last_step() -> None:
    async def main() -> None:
        steps = [*({"call": "look"} for _ in range(3)), "done", "well"]
        desk = SafeDesk(steps, tools=[look], token_threshold=100, event_retention_size=0)
        await desk.send_all("m" * 600)
        assert desk.summarizer.inputs == [["call look", "result"], ["summary of 2", "call look", "result"]]
        opening, summary, *step = desk.last_request()
        assert opening == "m" * 600
        assert "summary of 3" in summary
        assert step == ["", ""]
        await desk.send_all("and now?")
        assert desk.summarizer.inputs[-1] == ["summary of 3", "m" * 600, "call look", "result", "done"]
        summary, message = desk.last_request()
        assert "summary of 5" in summary
        assert message == "and now?"

    asyncio.run(main())


class SlowCounter(Counter):
    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        await asyncio.sleep(0.01)
        return await super().maybe_summarize_events(events=events)


@pytest.mark.parametrize("kind", [Desk, SafeDesk])
def test_parallel_agents_pay_for_one_summary_of_the_same_events(kind: type[Desk]) -> None:
    async def main() -> None:
        agents = [LlmAgent(name=f"agent{n}", model=ScriptedModel(["done"])) for n in range(3)]
        root = ParallelAgent(name="all", sub_agents=agents)
        summarizer = SlowCounter()
        desk = kind([], root=root, summarizer=summarizer, token_threshold=100, event_retention_size=0)
        await desk.send_all("m" * 600)
        assert len(summarizer.inputs) == 1
        assert summarizer.inputs[0][0] == "m" * 600

    asyncio.run(main())


def test_parallel_agents_keep_their_steps_whoever_compacts() -> None:
    async def main() -> None:
        agents = [
            LlmAgent(name=name, tools=[look], model=ScriptedModel([{"call": "look"}, {"call": "look"}, "done"]))
            for name in ("one", "two")
        ]
        root = ParallelAgent(name="both", sub_agents=agents)
        desk = SafeDesk([], root=root, token_threshold=100, event_retention_size=0)
        await desk.send_all("m" * 600)
        for agent in agents:
            for request in agent.model.requests[1:]:  # type: ignore[union-attr]
                texts = [" ".join(p.text for p in one.parts or () if p.text) for one in request.contents]
                assert "m" * 600 in texts
                last = request.contents[-2:]
                assert [p.function_call is not None for p in last[0].parts or ()] == [True]
                assert [p.function_response is not None for p in last[1].parts or ()] == [True]

    asyncio.run(main())
