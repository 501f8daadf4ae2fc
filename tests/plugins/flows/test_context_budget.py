"""The context budget: old results are cleared in lumps, nothing is lost, and every process builds the same request."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import Field

from newel.agents import LlmAgent
from newel.artifacts import InMemoryArtifactService
from newel.flows.context_budget.budget import Settings, limit_of
from newel.flows.context_budget.edits import edits_of, tokens_after_summary
from newel.flows.context_budget.kinds import ContextStrategy, OldResult, Replacement
from newel.flows.context_budget.occupancy import Occupancy
from newel.flows.history import History, Reading
from newel.models import BaseLlm, LlmResponse
from newel.models.token_estimates import tokens_of_text
from newel.runners import Runner
from newel.sessions import InMemorySessionService
from newel.tools import LongRunningFunctionTool
from newel_compose import compose
from newel_kernel import Event, LlmRequest, Log, Session, hookimpl
from newel_types import (
    Blob,
    Content,
    FunctionCall,
    FunctionResponse,
    GenerateContentConfig,
    GenerateContentResponseUsageMetadata,
    Part,
)

STUB = re.compile(r"read_result with id '(\w+)'")
#: Acts after a few short results.
SMALL: dict[str, Any] = {
    "clear_above": 1500,
    "clear_to": 500,
    "at_once": 3,
    "keep": 1,
    "least": 300,
    "kept_characters": 400,
}


def page(number: int, size: int = 20_480) -> dict[str, Any]:
    """Read a page."""
    return {"page": number, "text": (f"On page {number} the quick brown fox jumps over the lazy dog. " * 500)[:size]}


def job(number: int) -> dict[str, Any]:
    """Begin a job that takes long."""
    return {"status": "pending", "text": "begun " * 200}


class Scripted(BaseLlm):
    """Answers as `answer` says, and keeps what it was sent."""

    model: str = "scripted"
    answer: Callable[[LlmRequest, int], Sequence[Part]]
    seen: list[list[dict[str, Any]]] = Field(default_factory=list)
    tokens: Callable[[int], int] | None = None

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        contents = [one.model_dump(mode="json", exclude_none=True) for one in llm_request.contents]
        self.seen.append(contents)
        parts = list(self.answer(llm_request, len(self.seen)))
        response = LlmResponse(content=Content(role="model", parts=parts))
        if self.tokens is not None:
            usage = GenerateContentResponseUsageMetadata(prompt_token_count=self.tokens(len(_json(contents))))
            response.usage_metadata = usage
        yield response


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def call(name: str, id_: str, **args: Any) -> Part:
    return Part(function_call=FunctionCall(id=id_, name=name, args=args))


def responses(contents: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """By call id, what a request shows of the results."""
    parts = (part for one in contents for part in one.get("parts", ()))
    return {p["function_response"]["id"]: p["function_response"]["response"] for p in parts if "function_response" in p}


def handles(contents: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """By call id, the id under which a result that was cleared is read again."""
    shown = {id_: STUB.search(str(response.get("cleared", ""))) for id_, response in responses(contents).items()}
    return {id_: found[1] for id_, found in shown.items() if found}


def distribution(folder: Path, **budget: object) -> Path:
    path = folder / "d.yaml"
    path.write_text(json.dumps({"name": "d", "extends": "standard", "settings": {"context_budget": budget}}))
    return path


async def talk(agent: LlmAgent, messages: Sequence[str] = ("Begin.",), where: Any = "standard") -> Session:
    service = InMemorySessionService()
    runner = Runner(app_name="app", agent=agent, session_service=service, distribution=where)
    session = await service.create_session(app_name="app", user_id="u")
    for message in messages:
        await say(runner, session.id, [Part(text=message)])
    found = await service.get_session(app_name="app", user_id="u", session_id=session.id)
    assert found is not None
    return found


async def say(runner: Runner, session_id: str, parts: list[Part]) -> None:
    content = Content(role="user", parts=parts)
    async for event in runner.run_async(user_id="u", session_id=session_id, new_message=content):
        assert event.error_code is None, event


def reading_pages(number: int, then: Callable[[LlmRequest, int], Sequence[Part]] | None = None) -> Any:
    """A model's answers: it reads so many pages one after the other, and then does something else."""

    def answer(request: LlmRequest, turn: int) -> Sequence[Part]:
        if turn <= number:
            return [call("page", f"c{turn}", number=turn)]
        return then(request, turn - number) if then else [Part(text="Done.")]

    return answer


def test_fifty_results_of_20_kb_stay_below_200_kb_and_all_can_be_read_again() -> None:
    asked: list[str] = []
    right: list[bool] = []

    def asks_back(request: LlmRequest, turn: int) -> Sequence[Part]:
        contents = [one.model_dump(mode="json", exclude_none=True) for one in request.contents]
        known = handles(contents)
        if asked:
            read = responses(contents)[f"q{turn - 1}"]
            right.append(read == {"tool": "page", "result": page(int(asked[-1][1:]))})
        if turn > 20:
            return [Part(text="Done.")]
        asked.append([one for one in known if one.startswith("c")][2 * turn - 1])
        return [call("read_result", f"q{turn}", id=known[asked[-1]])]

    model = Scripted(answer=reading_pages(50, asks_back))
    asyncio.run(talk(LlmAgent(name="a", model=model, tools=[page])))
    assert max(len(_json(contents)) for contents in model.seen) <= 200_000
    assert right == [True] * 20
    assert len(set(asked)) == 20


@pytest.mark.parametrize("text", ["a result of many words, ", "每一个结果都很长。"], ids=["English", "Chinese"])
@pytest.mark.parametrize("keeps", [True, False], ids=["with artifacts", "without"])
def test_a_result_of_5_mb_does_not_fill_the_window_and_is_read_in_pages_where_it_is_kept(
    text: str, keeps: bool
) -> None:
    whole = {"text": (text * (5_000_000 // len(text.encode()) + 1))}
    pages: list[str] = []

    def huge() -> dict[str, Any]:
        """Get it."""
        return whole

    def answer(request: LlmRequest, turn: int) -> Sequence[Part]:
        contents = [one.model_dump(mode="json", exclude_none=True) for one in request.contents]
        if turn == 1:
            return [call("huge", "c1")]
        assert ("read_result" in request.tools_dict) is keeps
        if not keeps:
            return [Part(text="Done.")]
        if turn > 2:
            pages.append(responses(contents)[f"q{turn - 1}"]["text"])
        if turn == 5:
            return [Part(text="Done.")]
        return [call("read_result", f"q{turn}", id=responses(contents)["c1"]["artifact"], page=turn - 1)]

    model = Scripted(answer=answer)
    service = InMemorySessionService()
    runner = Runner(
        app_name="app",
        agent=LlmAgent(name="a", model=model, tools=[huge]),
        session_service=service,
        artifact_service=InMemoryArtifactService() if keeps else None,
        distribution="standard",
    )

    async def main() -> None:
        session = await service.create_session(app_name="app", user_id="u")
        await say(runner, session.id, [Part(text="Begin.")])

    asyncio.run(main())
    tokens = [tokens_of_text(_json(contents).decode()) for contents in model.seen]
    assert tokens[1] < (3_000 if keeps else 96_000)
    assert "".join(pages) == json.dumps(whole, ensure_ascii=False)[: sum(map(len, pages))]
    assert len(pages) == (3 if keeps else 0)


def test_the_cached_prefix_breaks_at_most_once_for_eight_results_that_are_cleared() -> None:
    model = Scripted(answer=reading_pages(60))
    asyncio.run(talk(LlmAgent(name="a", model=model, tools=[page])))
    pairs = zip(model.seen, model.seen[1:], strict=False)
    breaks = sum(later[: len(earlier)] != earlier for earlier, later in pairs)
    shortened = [id_ for id_, response in responses(model.seen[-1]).items() if "cleared" in response]
    assert breaks > 3
    assert len(shortened) >= 8 * breaks


def test_a_count_of_the_model_decides_if_there_is_one() -> None:
    few = Scripted(answer=reading_pages(30), tokens=lambda size: size // 100)
    many = Scripted(answer=reading_pages(12), tokens=lambda size: 40_000)
    asyncio.run(talk(LlmAgent(name="a", model=few, tools=[page])))
    asyncio.run(talk(LlmAgent(name="a", model=many, tools=[page])))
    assert not handles(few.seen[-1])
    assert handles(many.seen[-1])


def test_what_is_excluded_stays(tmp_path: Path) -> None:
    def other(number: int) -> dict[str, Any]:
        """Read a page of another book."""
        return page(number, 2_000)

    def answer(request: LlmRequest, turn: int) -> Sequence[Part]:
        name = "page" if turn % 2 else "other"
        return [call(name, f"{name}{turn}", number=turn)] if turn <= 30 else [Part(text="Done.")]

    model = Scripted(answer=answer)
    agent = LlmAgent(name="a", model=model, tools=[page, other])
    asyncio.run(talk(agent, where=distribution(tmp_path, exclude_tools=["page"], clear_above=4_000)))
    shown = responses(model.seen[-1])
    assert all("cleared" not in shown[id_] for id_ in shown if id_.startswith("page"))
    assert any("cleared" in shown[id_] for id_ in shown if id_.startswith("other"))
    model = Scripted(answer=answer)
    agent = LlmAgent(name="a", model=model, tools=[page, other])
    asyncio.run(talk(agent, where=distribution(tmp_path, exclude_agents=["a"])))
    assert not handles(model.seen[-1])


def test_a_long_result_is_read_in_pages_and_wrong_ids_and_pages_are_told(tmp_path: Path) -> None:
    read: list[dict[str, Any]] = []
    arguments: list[dict[str, Any]] = [{"id": "r1"}, {"id": "r1", "page": 2}, {"id": "r1", "page": 9}, {"id": "r99"}]

    def reads(request: LlmRequest, turn: int) -> Sequence[Part]:
        contents = [one.model_dump(mode="json", exclude_none=True) for one in request.contents]
        if turn > 1:
            read.append(responses(contents)[f"q{turn - 1}"])
        return [call("read_result", f"q{turn}", **arguments[turn - 1])] if turn <= 4 else [Part(text="Done.")]

    model = Scripted(answer=reading_pages(10, reads))
    asyncio.run(talk(LlmAgent(name="a", model=model, tools=[page]), where=distribution(tmp_path, page=12_000)))
    assert json.loads(read[0]["text"] + read[1]["text"]) == page(1)
    assert (read[0]["page"], read[0]["pages"]) == (1, 2)
    assert "pages 1 to 2" in read[2]["error"]
    assert "no result has the id 'r99'" in read[3]["error"]


def test_the_tool_is_declared_once_something_was_cleared_and_an_own_tool_of_that_name_counts() -> None:
    declared: list[list[str]] = []

    def answer(request: LlmRequest, turn: int) -> Sequence[Part]:
        declared.append(list(request.tools_dict))
        return reading_pages(12)(request, turn)  # type: ignore[no-any-return]

    asyncio.run(talk(LlmAgent(name="a", model=Scripted(answer=answer), tools=[page])))
    first = next(at for at, names in enumerate(declared) if "read_result" in names)
    assert 0 < first < 12
    assert all(("read_result" in names) == (at >= first) for at, names in enumerate(declared))

    def read_result(id: str) -> str:
        """Read a result of the laboratory."""
        return id

    declared.clear()
    model = Scripted(answer=answer)
    asyncio.run(talk(LlmAgent(name="a", model=model, tools=[page, read_result])))
    assert set(map(tuple, declared)) == {("page", "read_result")}
    assert not handles(model.seen[-1])


def test_of_equal_results_of_equal_calls_the_last_one_stays(tmp_path: Path) -> None:
    def answer(request: LlmRequest, turn: int) -> Sequence[Part]:
        return [call("page", f"c{turn}", number=turn % 2, size=1_500)] if turn <= 6 else [Part(text="Done.")]

    model = Scripted(answer=answer)
    agent = LlmAgent(name="a", model=model, tools=[page])
    asyncio.run(talk(agent, where=distribution(tmp_path, **{**SMALL, "keep": 9, "kept_characters": 5_000})))
    shown = responses(model.seen[-1])
    assert [id_ for id_ in shown if "the same call was made again" in str(shown[id_].get("cleared"))][:3] == [
        "c1",
        "c2",
        "c3",
    ]
    assert shown["c5"] == page(1, 1_500)


def test_a_request_that_does_not_fit_into_the_window_is_cleared_at_once_and_then_summarised(tmp_path: Path) -> None:
    summaries: list[str] = []

    def answer(request: LlmRequest, turn: int) -> Sequence[Part]:
        text = str(request.contents[-1].parts[-1].text)  # type: ignore[index]
        if "Message 1:" in text and "Message 4:" in text:
            summaries.append(text)
            return [Part(text="In short: he told stories.")]
        return [call("page", f"c{turn}", number=turn, size=3_000)] if turn == 2 else [Part(text="I see.")]

    model = Scripted(answer=answer)
    messages = [f"Message {number}: {'a long story about the sea and its many ships ' * 60}" for number in range(12)]
    agent = LlmAgent(name="a", model=model, tools=[page])
    session = asyncio.run(talk(agent, messages, where=distribution(tmp_path, window=6_000)))
    last = _json(model.seen[-1]).decode()
    assert summaries
    _check_fresh(session.events)  # also when the next summary is due
    assert "In short: he told stories." in last
    assert messages[-1] in last
    assert messages[0] not in last


def test_strategies_are_asked_again_only_once_there_are_other_results(tmp_path: Path) -> None:
    """A long conversation that stays too large costs nothing more a turn."""
    asked: list[int] = []

    class Plugin:
        @hookimpl
        def register_context_strategies(self) -> list[ContextStrategy]:
            return [ContextStrategy(name="mine", shorten=shorten, before=("drop",))]

    def shorten(results: Sequence[OldResult]) -> Iterator[Replacement]:
        asked.append(len(results))
        return iter(())

    def answer(request: LlmRequest, turn: int) -> Sequence[Part]:
        message = request.contents[-1].parts[-1]  # type: ignore[index]
        if message.function_response is not None or message.text == "Just talk.":
            return [Part(text="I see.")]
        return [call("page", f"c{turn}-{number}", number=turn * 10 + number, size=1_500) for number in range(4)]

    agent = LlmAgent(name="a", model=Scripted(answer=answer), tools=[page])
    where = distribution(tmp_path, **{**SMALL, "keep": 99, "kept_characters": 9_000})

    async def main() -> None:
        composed = compose(str(where), plugins=[Plugin()])
        service = InMemorySessionService()
        runner = Runner(app_name="app", agent=agent, session_service=service, composition=composed)
        session = await service.create_session(app_name="app", user_id="u")
        for _ in range(4):
            await say(runner, session.id, [Part(text="Read.")])
        before = len(asked)
        assert before > 1
        for _ in range(20):
            await say(runner, session.id, [Part(text="Just talk.")])
        assert len(asked) - before <= 1

    asyncio.run(main())


def test_adk_shows_everything() -> None:
    model = Scripted(answer=reading_pages(20))
    session = asyncio.run(talk(LlmAgent(name="a", model=model, tools=[page]), where="adk"))
    assert len(_json(model.seen[-1])) > 400_000
    assert not any(edits_of(event) for event in session.events)


# --- random histories ---------------------------------------------------------------------------------


@dataclass
class World:
    """What happened, and what the model was to see of it."""

    queue: list[tuple[str, ...]] = field(default_factory=list)
    number: int = 0
    waiting: list[str] = field(default_factory=list)
    #: The last step of this turn.
    step: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def answer(self, request: LlmRequest, turn: int) -> Sequence[Part]:
        contents = [one.model_dump(mode="json", exclude_none=True) for one in request.contents]
        self.judge(contents)
        parts = [self.called(kind) for kind in (self.queue.pop(0) if self.queue else ())]
        self.step = {part.function_call.id or "" for part in parts if part.function_call is not None}
        return parts or [Part(text=f"Answer {turn}.")]

    def called(self, kind: str) -> Part:
        self.number += 1
        id_ = f"c{self.number}"
        if kind == "job":
            self.waiting.append(id_)
            return call("job", id_, number=self.number)
        return call("page", id_, number=7 if kind == "same" else self.number, size={"long": 6_000}.get(kind, 900))

    def judge(self, contents: list[dict[str, Any]]) -> None:
        """Each call is followed by its results, once; the last step is whole, and so are calls that wait."""
        for at, content in enumerate(contents):
            called = [p["function_call"]["id"] for p in content["parts"] if "function_call" in p]
            following = contents[at + 1]["parts"] if called and at + 1 < len(contents) else []
            answered = [p["function_response"]["id"] for p in following if "function_response" in p]
            if Counter(called) != Counter(answered):
                self.problems.append(f"{called} have the results {answered}")
        shown = responses(contents)
        cut = {id_ for id_, response in shown.items() if "cleared" in response}
        if cut & (self.step | set(self.waiting)):
            self.problems.append(f"{cut & (self.step | set(self.waiting))} is cleared, the step is {self.step}")


ACTS = st.one_of(
    st.lists(
        st.lists(st.sampled_from(["page", "long", "same", "long", "job"]), min_size=1, max_size=3).map(tuple),
        max_size=6,
    ),
    st.sampled_from(["late", "rewind", "fork"]),
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(acts=st.lists(ACTS, min_size=6, max_size=14), counts=st.booleans())
def test_random_histories_are_whole_and_the_same_in_a_fresh_process(
    acts: list[Any], counts: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("d")
    asyncio.run(_play(acts, distribution(folder, **SMALL), counts))


async def _play(acts: list[Any], where: Path, counts: bool) -> None:
    world = World()
    model = Scripted(answer=world.answer, tokens=(lambda size: size // 4) if counts else None)
    agent = LlmAgent(name="a", model=model, tools=[page, LongRunningFunctionTool(job)])
    service = InMemorySessionService()
    runner = Runner(app_name="app", agent=agent, session_service=service, distribution=str(where))
    session = await service.create_session(app_name="app", user_id="u")
    said: list[str] = []
    for number, act in enumerate(acts):
        world.step = set()
        if act == "late" and world.waiting:
            id_ = world.waiting.pop(0)
            result = {"status": "done", "text": "the result of the job " * 40}
            answered = FunctionResponse(id=id_, name="job", response=result)
            await say(runner, session.id, [Part(function_response=answered)])
        elif act == "fork":
            session = await runner.fork_session(user_id="u", session_id=session.id)
        elif act == "rewind" and said:
            await _rewind(runner, service, session.id, said.pop())
            standing = Log(await _events(service, session.id)).standing()
            known = {one.id for event in standing for one in event.get_function_calls()}
            world.waiting = [id_ for id_ in world.waiting if id_ in known]
        else:
            world.queue = list(act) if isinstance(act, list) else []
            said.append(f"U{number}.")
            await say(runner, session.id, [Part(text=f"U{number}.")])
        if isinstance(act, list):
            users = [p.get("text") for c in model.seen[-1] if c["role"] == "user" for p in c["parts"] if "text" in p]
            assert [text for text in users if text] == said
    assert not world.problems
    _check_fresh(await _events(service, session.id))


async def _events(service: InMemorySessionService, session_id: str) -> Sequence[Event]:
    session = await service.get_session(app_name="app", user_id="u", session_id=session_id)
    assert session is not None
    return session.events


async def _rewind(runner: Runner, service: InMemorySessionService, session_id: str, text: str) -> None:
    events = await _events(service, session_id)
    target = next(event for event in reversed(events) if event.text == text and event.author == "user").invocation_id
    await runner.rewind_async(user_id="u", session_id=session_id, rewind_before_invocation_id=target)


def _check_fresh(events: Sequence[Event]) -> None:
    """What a process that reads the log event by event builds is what one builds that reads it at once."""
    reading = Reading(fence=True, asked_only=True, keep_meanwhile=True)
    view = ("a", None, None)
    slow, quick = History(*view, reading), History(*view, reading)
    step, once = Occupancy(slow, view, 300), Occupancy(quick, view, 300)
    for end in range(1, len(events) + 1):
        step.update(events[:end])
    once.update(events)
    assert slow.update(events) == quick.update(events)
    assert (step.tokens(), step.steps, step.handles) == (once.tokens(), once.steps, once.handles)
    assert (step.whole, step.summarized_at, step.cleared_at) == (once.whole, once.summarized_at, once.cleared_at)
    assert (step.summarized_at > 0) == any(tokens_after_summary(event) for event in events)
    assert [(one.target, one.characters, one.step) for one in step.old()] == [
        (one.target, one.characters, one.step) for one in once.old()
    ]


@pytest.mark.parametrize(
    ("most", "expected"), [(None, 75_000), (10_000, 75_000), (60_000, 40_000), (100_000, 25_000), (1_000_000, 25_000)]
)
def test_an_answer_has_its_room_in_the_window(most: int | None, expected: int) -> None:
    model = Scripted(answer=lambda request, turn: [])
    agent = LlmAgent(name="a", model=model, generate_content_config=GenerateContentConfig(max_output_tokens=most))
    assert limit_of(Settings(window=100_000), model, agent) == expected


def test_media_count_in_a_conversation_whose_model_counts_nothing() -> None:
    scan = Part(inline_data=Blob(mime_type="application/pdf", data=b"/Type /Page " * 40))
    occupancy = Occupancy(History("a", None, None, Reading()), ("a", None, None), 1_000, "anthropic", frozenset())
    event = Event(author="user", invocation_id="e", content=Content(role="user", parts=[scan]))
    occupancy.update([event])
    assert occupancy.exceeds(100_000)
    assert not occupancy.exceeds(150_000)
    assert occupancy.tokens() == pytest.approx(120_000, rel=0.05)
