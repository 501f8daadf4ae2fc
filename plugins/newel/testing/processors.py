"""processor_conformance: checks that a processor leaves alone what is not its own, at its very place in the chain."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from newel.agents import LlmAgent
from newel.models.scripted import ScriptedModel
from newel.testing.conversation import Conversation
from newel.testing.interruptions import cancelled_at_each_await
from newel.testing.sessions.place import same
from newel.testing.store_checks import run_all
from newel_compose import compose
from newel_kernel import (
    BaseAgent,
    ConfigurationError,
    Event,
    InvocationContext,
    LlmRequest,
    LlmResponse,
    RequestProcessor,
    ResponseProcessor,
    hookimpl,
)
from newel_types import Content, FunctionCall, Part

Processor: TypeAlias = RequestProcessor | ResponseProcessor
MakeAgent: TypeAlias = Callable[[], LlmAgent]
#: What is edited, by the name of each part, in plain data.
Parts: TypeAlias = dict[str, Any]

_ODD_PARTS: tuple[dict[str, Any], ...] = (
    {"text": ""},
    {"text": "why", "thought": True, "thoughtSignature": "AP8="},
    {"inlineData": {"mimeType": "image/png", "data": "AAEC_w=="}},
    {"fileData": {"fileUri": "gs://b/x", "mimeType": "a/b"}},
    {"functionCall": {"id": "odd", "name": "look", "args": {"n": 2**70, "none": None}}},
    {"functionResponse": {"id": "odd", "name": "look", "response": {"r": [1]}}},
    {"executableCode": {"code": "1", "language": "PYTHON"}},
)
_CONFIG: dict[str, Any] = {
    "temperature": 0.25,
    "stop_sequences": ["END"],
    "max_output_tokens": 77,
    "labels": {"team": "blue"},
    "response_modalities": ["TEXT"],
}


class _Subject(NamedTuple):
    """A processor in the middle of a run: at its place in the chain, in the second turn of a conversation."""

    processor: Processor
    ctx: InvocationContext
    request: LlmRequest
    response: LlmResponse | None
    #: Parts that it may add to, and parts that it may change in any way.
    adds: frozenset[str]
    replaces: frozenset[str]

    def copies(self) -> tuple[LlmRequest, LlmResponse | None]:
        """A request and a response of its own for one call."""
        response = self.response and self.response.model_copy(deep=True)
        return _rich(self.request.model_copy(deep=True)), response

    def call(self, request: LlmRequest, response: LlmResponse | None) -> Coroutine[Any, Any, Sequence[Event] | None]:
        """Run the processor."""
        return _call(self.processor, self.ctx, request, response)

    def parts(self, request: LlmRequest, response: LlmResponse | None) -> Parts:
        """All parts in plain data."""
        return _request_parts(request) | (_response_parts(response) if response is not None else {})


async def _call(
    processor: Processor, ctx: InvocationContext, request: LlmRequest, response: LlmResponse | None
) -> Sequence[Event] | None:
    if isinstance(processor, ResponseProcessor):
        assert response is not None
        reported = processor.run(ctx, request, response)
    else:
        step = processor.run
        if processor.for_agent is not None:
            step = processor.for_agent(ctx.agent)
        reported = step(ctx, request)
    return await reported if inspect.isawaitable(reported) else reported


def _rich(request: LlmRequest) -> LlmRequest:
    """The request with more settings than this chain gives it."""
    config = request.config
    for name, value in _CONFIG.items():
        if getattr(config, name) is None:
            setattr(config, name, value)
    return request


def _request_parts(request: LlmRequest) -> Parts:
    config = request.config.model_dump(exclude_none=True)
    instruction = config.pop("system_instruction", None)
    config.pop("tools", None)
    tools = [
        one.name for tool in request.config.tools or () for one in getattr(tool, "function_declarations", None) or ()
    ]
    return {
        "model": request.model,
        "contents": [content.model_dump(mode="json") for content in request.contents],
        "instruction": instruction if isinstance(instruction, str) else repr(instruction) if instruction else "",
        "tools": [*sorted(request.tools_dict), *tools],
        **{f"config.{name}": value if isinstance(value, dict) else repr(value) for name, value in config.items()},
    }


def _response_parts(response: LlmResponse) -> Parts:
    plain = response.model_dump(mode="json", exclude_none=True)
    content = plain.pop("content", None) or {}
    return {"response.parts": content.get("parts") or [], **{f"response.{name}": one for name, one in plain.items()}}


def _holds(before: Any, after: Any) -> bool:
    """Whether what was there is still there, in its order."""
    if isinstance(before, str) and isinstance(after, str):
        return before in after
    if isinstance(before, list) and isinstance(after, list):
        rest = iter(after)
        return all(any(one == other for other in rest) for one in before)
    if isinstance(before, dict) and isinstance(after, dict):
        return before.items() <= after.items()
    return bool(before == after)


def _compare(subject: _Subject, before: Parts, after: Parts) -> None:
    for name in sorted({*before, *after} - subject.replaces):
        if (one := before.get(name)) == (other := after.get(name)):
            continue
        told = f"{name} was {one!r:.150} and is {other!r:.150}"
        assert name in subject.adds, f"it changes a part that is not its own: {told}; say so with `adds` or `replaces`"
        assert name not in before or _holds(one, other), f"it may add to {name}, but takes away from it: {told}"


async def no_foreign_part_is_changed(subject: _Subject) -> None:
    """The request (and response) before and after: only what the processor says that it changes, and only added to."""
    request, response = subject.copies()
    before = subject.parts(request, response)
    await subject.call(request, response)
    _compare(subject, before, subject.parts(request, response))


async def odd_contents_are_no_error(subject: _Subject) -> None:
    """No contents, contents without parts, thoughts, files, calls without a result: they pass unchanged."""
    everything = Content.model_validate({"role": "model", "parts": list(_ODD_PARTS)})
    odd = [Content.model_validate({"role": "user", "parts": [part]}) for part in _ODD_PARTS]
    for contents in ([], [Content(role="user")], [Content(role="model", parts=[])], [everything], odd):
        request, response = subject.copies()
        request.contents = [content.model_copy(deep=True) for content in contents]
        if response is not None:
            response.content = contents[-1].model_copy(deep=True) if contents else None
        before = subject.parts(request, response)
        await subject.call(request, response)
        _compare(subject, before, subject.parts(request, response))


async def the_session_is_not_changed(subject: _Subject) -> None:
    """Nor the agent: what the processor has to say it returns as events, which are committed."""
    request, response = subject.request.model_copy(), subject.response and subject.response.model_copy(deep=True)
    before = _session(subject.ctx)
    await subject.call(request, response)
    same(_session(subject.ctx), before)


def _session(ctx: InvocationContext) -> Parts:
    agent = {name: repr(value) for name, value in vars(ctx.agent).items() if not name.startswith("_")}
    agent.pop("model", None)  # counts what it was asked
    events = [event.model_dump(mode="json") for event in ctx.session.events]
    return {"events": events, "state": dict(ctx.session.state), "agent": agent}


async def the_same_request_becomes_the_same(subject: _Subject) -> None:
    """However often: nothing of one request is left for the next."""
    results = []
    for _ in range(3):
        request, response = subject.copies()
        await subject.call(request, response)
        results.append(subject.parts(request, response))
    same(results[1:], results[:1] * 2)


async def requests_at_once_are_apart(subject: _Subject) -> None:
    """What one request says never reaches another one that is made meanwhile."""

    async def go(number: int) -> Parts:
        request, response = subject.copies()
        request.contents = [*request.contents, Content(role="user", parts=[Part(text=f"only in {number}")])]
        await subject.call(request, response)
        return subject.parts(request, response)

    alone = [await go(number) for number in range(4)]
    same(await asyncio.gather(*map(go, range(4))), alone)


async def it_returns_events_or_nothing(subject: _Subject) -> None:
    """Events that have an author, of this invocation; a plain function returns nothing."""
    request, response = subject.copies()
    events = await subject.call(request, response)
    for event in events or ():
        assert isinstance(event, Event), f"it returns {event!r:.100}, not an event"
        assert event.author, "it returns an event without an author"
        same(event.invocation_id, subject.ctx.invocation_id)


async def a_cancellation_passes(subject: _Subject) -> None:
    """At any await: it ends the processor, and changes neither the session nor the agent."""
    before = _session(subject.ctx)
    ended = 0
    async for task in cancelled_at_each_await(lambda: subject.call(*subject.copies())):
        if not task.cancelled():
            ended += 1
            if (error := task.exception()) is not None:
                raise error
        same(_session(subject.ctx), before)
    assert ended == 1, "it swallows a cancellation: let CancelledError pass"


async def agents_are_told_apart_by_their_fields(subject: _Subject) -> None:
    """`applies_to` and `for_agent` answer for every agent, the same each time, and change nothing."""
    agents: list[BaseAgent] = [subject.ctx.agent, LlmAgent(name="bare"), LlmAgent(name="with", tools=[look])]
    agents.append(LlmAgent(name="parent", sub_agents=[LlmAgent(name="child")]))
    for agent in agents:
        before = {name: repr(value) for name, value in vars(agent).items() if not name.startswith("_")}
        if (applies := subject.processor.applies_to) is not None:
            same(applies(agent), applies(agent))
        if isinstance(subject.processor, RequestProcessor) and subject.processor.for_agent is not None:
            assert callable(subject.processor.for_agent(agent)), "`for_agent` does not give a step"
        same({name: repr(value) for name, value in vars(agent).items() if not name.startswith("_")}, before)


def look(place: str) -> dict[str, str]:
    """Look at a place."""
    return {"seen": place}


class _Probe:
    """A plugin right before the processor, which hands over what comes there."""

    def __init__(self, processor: Processor, experiment: Callable[..., Coroutine[Any, Any, None]]) -> None:
        self._processor, self._experiment = processor, experiment
        self.done = False

    async def _look(self, ctx: InvocationContext, request: LlmRequest, response: LlmResponse | None = None) -> None:
        if len(ctx.session.events) > 3 and not self.done:  # the second turn, whose history has a call and its result
            await self._experiment(self._processor, ctx, request, response)
            self.done = True

    @hookimpl
    def register_request_processors(self) -> Sequence[RequestProcessor]:
        """Before a request processor."""
        if not isinstance(self._processor, RequestProcessor):
            return []
        return [RequestProcessor(name="conformance", run=self._look, before=(self._processor.name,))]

    @hookimpl
    def register_response_processors(self) -> Sequence[ResponseProcessor]:
        """Before a response processor."""
        if not isinstance(self._processor, ResponseProcessor):
            return []
        return [ResponseProcessor(name="conformance", run=self._look, before=(self._processor.name,))]


CHECKS = {
    check.__name__: check
    for check in (
        no_foreign_part_is_changed,
        odd_contents_are_no_error,
        the_session_is_not_changed,
        the_same_request_becomes_the_same,
        requests_at_once_are_apart,
        it_returns_events_or_nothing,
        a_cancellation_passes,
        agents_are_told_apart_by_their_fields,
    )
}


class _Setup(NamedTuple):
    name: str
    plugins: Sequence[object]
    distribution: str
    of_responses: bool
    adds: frozenset[str]
    replaces: frozenset[str]
    agent: MakeAgent

    def processor(self) -> Processor:
        """The processor of that name in the composition."""
        composition = compose(self.distribution, plugins=self.plugins)
        for step in composition.response_chain if self.of_responses else composition.request_chain:
            if step.name == self.name and isinstance(step, (RequestProcessor, ResponseProcessor)):
                return step
        raise ConfigurationError(f"the distribution {self.distribution!r} has no such processor {self.name!r}")

    def run(self, check: Callable[[_Subject], Coroutine[Any, Any, None]]) -> None:
        """Make a check in the second turn of a conversation."""
        failures: list[Exception] = []

        async def experiment(processor: Processor, ctx: InvocationContext, request: Any, response: Any) -> None:
            try:
                _expect_part(processor, ctx)
                await check(_Subject(processor, ctx, request, response, self.adds, self.replaces))
            except Exception as error:  # noqa: BLE001 - the run would make an event of it
                failures.append(error)

        probe = _Probe(self.processor(), experiment)
        self.talk(self.distribution, probe)
        if failures:
            raise failures[0]
        assert probe.done, f"the processor {self.name!r} has no part in the second turn of a conversation"

    def talk(self, distribution: str, *more: object) -> None:
        """Two turns, with a call of a tool in the first."""
        agent = self.agent()
        agent.model = ScriptedModel([FunctionCall(name="look", args={"place": "pier"}), "A pier.", "Again."])
        agent.tools = [*agent.tools, look]
        composition = compose(distribution, plugins=[*self.plugins, *more])
        talk = Conversation(agent, distribution=composition)
        same([talk.say("What do you see?").text, talk.say("And now?").text], ["A pier.", "Again."])


def _expect_part(processor: Processor, ctx: InvocationContext) -> None:
    applies = processor.applies_to is None or processor.applies_to(ctx.agent)
    assert applies, f"the processor {processor.name!r} does not apply to the agent of the check: give another `agent`"


def _takes_part(setup: _Setup) -> None:
    """A conversation with a tool runs as without it, in each of newel's distributions."""
    for distribution in ("minimal", "adk", "standard"):
        setup.talk(distribution)


def processor_checks(
    name: str,
    *,
    plugins: Sequence[object] = (),
    distribution: str = "standard",
    of_responses: bool = False,
    adds: Collection[str] = (),
    replaces: Collection[str] = (),
    agent: MakeAgent = lambda: LlmAgent(name="root"),
) -> Mapping[str, Callable[[], None]]:
    """The checks of a request or response processor by name; AssertionError if one fails.

    The processor is looked up by its name in the request chain of a distribution (`of_responses`: in its response
    chain), to which `plugins` that are not installed are given.
    `adds` are the parts that it may add to, `replaces` those that it may change in any way: ``instruction``,
    ``contents``, ``tools``, ``model``, ``config.temperature`` and so on; ``response.parts``, ``response.error_code``...
    `agent` makes an agent to which it applies.
    """
    setup = _Setup(name, plugins, distribution, of_responses, frozenset(adds), frozenset(replaces), agent)
    return {each: partial(setup.run, check) for each, check in CHECKS.items()} | {
        "a_conversation_runs_as_without_it": partial(_takes_part, setup)
    }


def processor_conformance(
    name: str,
    *,
    plugins: Sequence[object] = (),
    distribution: str = "standard",
    of_responses: bool = False,
    adds: Collection[str] = (),
    replaces: Collection[str] = (),
    agent: MakeAgent = lambda: LlmAgent(name="root"),
) -> None:
    """Run every check of `processor_checks`; one AssertionError names all that fail."""
    checks = processor_checks(
        name,
        plugins=plugins,
        distribution=distribution,
        of_responses=of_responses,
        adds=adds,
        replaces=replaces,
        agent=agent,
    )
    run_all(checks, "processor")
