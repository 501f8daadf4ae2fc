"""The phases of policies, in one generator, do what a generator for each policy does, each around the next one's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from newel.models import BaseLlm
from newel.models.kinds import Attempt, ModelCall, ModelPolicy, Retry
from newel.models.policies.chain import _within
from newel_compose import compose
from newel_kernel import Chains, CompositionError, ConfigurationError, LlmRequest, LlmResponse, hookimpl
from newel_types import Content, Part

Log = list[tuple[Any, ...]]
#: What a phase does at its calls, one after another; at later calls it only passes on what it gets.
Acts = list[str]


@dataclass(frozen=True)
class Spec:
    """What a random policy does."""

    begin: Acts | None = None
    redirect: Acts | None = None
    enter: Acts | None = None
    holds_waits: Acts | None = None
    response: Acts | None = None
    chunk: Acts | None = None
    end: Acts | None = None
    error: Acts | None = None
    close: bool = False
    wrap: bool = False


@dataclass
class Run:
    """One run of a call: what happened, and how far the acts are done."""

    log: Log = field(default_factory=list)
    done: dict[tuple[int, str], int] = field(default_factory=dict)

    def act(self, level: int, phase: str, acts: Acts, *what: object) -> str:
        """The next act of a phase, noted."""
        count = self.done[level, phase] = self.done.get((level, phase), 0) + 1
        self.log.append((level, phase, *what))
        act = acts[count - 1] if count <= len(acts) else "pass"
        if act == "raise":
            raise ValueError(f"{level} {phase} {count}")
        return act


class Named(BaseLlm):
    """A model that is only a name."""

    def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        raise NotImplementedError


def said(text: str, partial: bool = False) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=[Part(text=text)]), partial=partial)


def text_of(response: LlmResponse) -> str:
    assert response.content is not None
    return "".join(part.text or "" for part in response.content.parts or ())


class Guard:
    """A context manager around each wait."""

    def __init__(self, run: Run, level: int, acts: Acts, name: object) -> None:
        self.run, self.level, self.acts, self.name = run, level, acts, name

    def __enter__(self) -> None:
        self.run.act(self.level, "guard", self.acts, self.name)

    def __exit__(self, *error: object) -> None:
        self.run.log.append((self.level, "unguard"))


def policy(run: Run, level: int, spec: Spec) -> ModelPolicy:  # noqa: C901
    """The policy that a specification describes; it notes in `run` all that it is asked."""
    name = f"p{level}"
    if spec.wrap:
        return ModelPolicy(name=name, wrap=lambda call, chains: _tagging(run, level, call))
    fields: dict[str, Any] = {}
    needs_begin = spec.redirect is not None or spec.enter is not None or spec.holds_waits is not None or spec.close
    if spec.begin is not None or needs_begin:

        def begin(attempt: Attempt) -> object:
            seen = (attempt.model.model, attempt.request.model)
            if run.act(level, "begin", spec.begin or [], *seen) == "skip":
                return None
            return Guard(run, level, spec.holds_waits, seen) if spec.holds_waits is not None else seen

        fields["begin"] = begin
    if spec.redirect is not None:
        redirect = spec.redirect
        fields["redirect"] = lambda _: (
            Named(model=f"r{level}") if run.act(level, "redirect", redirect) == "do" else None
        )
    if spec.enter is not None:
        enter = spec.enter

        async def waits(state: object) -> None:
            await asyncio.sleep(0)
            run.act(level, "enter", enter)

        fields["enter"] = waits
    for phase in ("response", "chunk"):
        if (acts := getattr(spec, phase)) is not None:
            fields[phase] = _phase(run, level, phase, acts)
    if spec.end is not None:
        end = spec.end
        fields["end"] = lambda _: said(f"end{level}") if run.act(level, "end", end) == "do" else None
    if spec.error is not None:
        fields["error"] = _error(run, level, spec.error)
    if spec.close:
        fields["close"] = lambda _: run.log.append((level, "close"))
    return ModelPolicy(name=name, holds_waits=spec.holds_waits is not None, **fields)


def _phase(run: Run, level: int, phase: str, acts: Acts) -> Callable[[Any, LlmResponse], LlmResponse | None]:
    def change(state: object, response: LlmResponse) -> LlmResponse | None:
        act = run.act(level, phase, acts, text_of(response))
        if act == "hold":
            return None
        return said(f"{text_of(response)}+{level}", bool(response.partial)) if act == "do" else response

    return change


def _error(run: Run, level: int, acts: Acts) -> Any:
    def recover(state: object, error: Exception, answered: bool) -> object:
        act = run.act(level, "error", acts, str(error), answered)
        if act == "again":
            return Retry()
        if act == "other":
            return Retry(model=Named(model=f"e{level}"), delay=0)
        return said(f"instead{level}") if act == "do" else None

    async def recover_later(state: object, error: Exception, answered: bool) -> object:
        await asyncio.sleep(0)
        return recover(state, error, answered)

    return recover_later if len(acts) % 2 else recover


def _tagging(run: Run, level: int, call: ModelCall) -> ModelCall:
    async def tag(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        responses = call(model, request, stream)
        try:
            async for response in responses:
                yield said(f"{text_of(response)}*{level}", bool(response.partial))
        finally:
            await responses.aclose()
            run.log.append((level, "unwrap"))

    return tag


# --- the reference ------------------------------------------------------------------------------------


def nested(policy: ModelPolicy, call: ModelCall) -> ModelCall:  # noqa: C901
    """A policy as a generator of its own around `call`."""

    async def within(  # noqa: C901
        model: BaseLlm, request: LlmRequest, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        attempt = Attempt(model, request, stream)
        state = attempt if policy.begin is None else policy.begin(attempt)
        asked = attempt
        if state is not None and policy.redirect is not None and (other := policy.redirect(state)) is not None:
            asked = Attempt(cast("BaseLlm", other), request, stream)
            request.model = asked.model.model
        if state is not None and policy.enter is not None:
            await policy.enter(state)
        inner, answered = call(asked.model, asked.request, stream), False
        try:
            while True:
                try:
                    if policy.holds_waits and state is not None:
                        with state:
                            response = await anext(inner)
                    else:
                        response = await anext(inner)
                except StopAsyncIteration:
                    break
                except Exception as error:
                    await inner.aclose()
                    if policy.error is None or state is None:
                        raise
                    found = policy.error(state, error, answered)
                    recovery = await found if asyncio.iscoroutine(found) else found
                    if isinstance(recovery, Retry):
                        if recovery.model is not None:
                            copy = request.model_copy()
                            asked = Attempt(cast("BaseLlm", recovery.model), copy, stream)
                            copy.model = asked.model.model
                        inner = call(asked.model, asked.request, stream)
                        continue
                    if recovery is None:
                        raise
                    yield cast("LlmResponse", recovery)
                    return
                answered = True
                phase = policy.chunk if response.partial else policy.response
                passed = response if phase is None or state is None else phase(state, response)
                if passed is not None:
                    yield passed
            if policy.end is not None and state is not None and (last := policy.end(state)) is not None:
                yield last
        finally:
            await inner.aclose()
            if policy.close is not None and state is not None:
                policy.close(state)

    return within


def as_nested(policies: list[ModelPolicy], ask: ModelCall) -> ModelCall:
    call = ask
    for one in reversed(policies):
        call = one.wrap(call, cast("Chains", None)) if one.wrap is not None else nested(one, call)
    return call


def as_phases(policies: list[ModelPolicy], ask: ModelCall) -> ModelCall:
    return _within(policies, ask, cast("Chains", None))


# --- both, compared -----------------------------------------------------------------------------------


def outcome(  # noqa: C901
    make: Callable[[list[ModelPolicy], ModelCall], ModelCall], specs: list[Spec], script: list[list[str]], leave: int
) -> Log:
    """What happens in a call, of which the caller takes `leave` responses; a model that hangs is cancelled."""
    run, asked, hangs = Run(), iter(script), asyncio.Event()

    async def ask(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        run.log.append(("asked", model.model, request.model))
        try:
            for count, step in enumerate(next(asked, ["whole"])):
                await asyncio.sleep(0)
                if step == "raise":
                    raise ValueError(f"model {count}")
                if step == "hang":
                    hangs.set()
                    await asyncio.Event().wait()
                yield said(f"{model.model}{count}", partial=step == "chunk")
        finally:
            run.log.append(("model", "closed"))

    async def consume() -> None:
        request = LlmRequest(model="m")
        call = make([policy(run, level, spec) for level, spec in enumerate(specs)], ask)
        responses = call(Named(model="m"), request, True)
        taken = 0
        try:
            async for response in responses:
                run.log.append(("got", text_of(response)))
                taken += 1
                if taken == leave:
                    break
        except ValueError as error:
            run.log.append(("failed", str(error)))
        finally:
            await responses.aclose()
        run.log.append(("request", request.model))

    async def main() -> None:
        task, hanging = asyncio.create_task(consume()), asyncio.create_task(hangs.wait())
        await asyncio.wait({task, hanging}, timeout=5, return_when=asyncio.FIRST_COMPLETED)
        hanging.cancel()
        if not task.done():
            task.cancel()
        await asyncio.wait({task})
        run.log.append(("cancelled", task.cancelled()))
        if not task.cancelled():
            await task

    asyncio.run(main())
    return run.log


def acts(*names: str) -> st.SearchStrategy[Acts | None]:
    return st.none() | st.lists(st.sampled_from(["pass", *names]), max_size=3)


SPECS = st.builds(
    Spec,
    begin=acts("skip", "raise"),
    redirect=acts("do", "raise"),
    enter=acts("raise"),
    holds_waits=acts("raise"),
    response=acts("do", "hold", "raise"),
    chunk=acts("do", "hold", "raise"),
    end=acts("do", "raise"),
    error=acts("again", "other", "do", "raise"),
    close=st.booleans(),
    wrap=st.sampled_from([False, False, False, True]),
)
#: Policies that mostly hold back, recover and begin again.
RECOVERIES = st.builds(
    Spec,
    response=acts("hold"),
    chunk=acts("hold"),
    error=st.lists(st.sampled_from(["again", "other", "pass"]), max_size=3),
    close=st.booleans(),
)
STEPS = st.lists(st.sampled_from(["chunk", "chunk", "whole", "raise"]), max_size=4)


@settings(max_examples=400, deadline=None)
@given(st.lists(SPECS, min_size=1, max_size=4), st.lists(STEPS, max_size=5), st.integers(1, 6))
def test_phases_do_what_nested_generators_do(specs: list[Spec], script: list[list[str]], leave: int) -> None:
    assert outcome(as_phases, specs, script, leave) == outcome(as_nested, specs, script, leave)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(RECOVERIES, min_size=2, max_size=3),
    st.lists(st.sampled_from([["raise"], ["chunk", "raise"], ["whole", "raise"], ["whole"]]), min_size=2, max_size=5),
)
def test_whether_an_answer_had_begun_is_known_at_each_level(specs: list[Spec], script: list[list[str]]) -> None:
    assert outcome(as_phases, specs, script, 100) == outcome(as_nested, specs, script, 100)


def test_an_error_of_the_caller_is_no_policys() -> None:
    seen: list[Exception] = []
    inner = ModelPolicy(name="inner", error=lambda _, error, answered: seen.append(error))

    async def ask(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        yield said("x")

    async def run() -> None:
        responses = as_phases([inner, inner], ask)(Named(model="m"), LlmRequest(), False)
        await anext(responses)
        with pytest.raises(ValueError, match="the caller's"):
            await responses.athrow(ValueError("the caller's"))

    asyncio.run(run())
    assert seen == []


@settings(max_examples=15, deadline=None)
@given(st.lists(SPECS, min_size=1, max_size=4), STEPS)
def test_a_cancelled_call_is_closed_from_the_inside_out(specs: list[Spec], steps: list[str]) -> None:
    script = [[*steps, "hang"]] * 6
    assert outcome(as_phases, specs, script, 100) == outcome(as_nested, specs, script, 100)


def test_a_policy_that_wraps_has_no_phases() -> None:
    with pytest.raises(ConfigurationError, match="both `wrap` and phases"):
        ModelPolicy(name="x", wrap=lambda call, chains: call, close=lambda state: None)
    with pytest.raises(ConfigurationError, match="needs `begin`"):
        ModelPolicy(name="x", close=lambda state: None)


@pytest.mark.parametrize(
    ("anchors", "words"),
    [
        ({"after": ("model_retrys",)}, "'model_retrys', which does not exist; did you mean 'model_retries'"),
        ({}, "has no place"),
        ({"after": ("model_costs",), "before": ("cassettes",)}, "contradictory order"),
    ],
)
def test_a_policy_in_a_wrong_place_is_an_error_of_the_composition(anchors: dict[str, Any], words: str) -> None:
    class Plugin:
        @hookimpl
        def register_model_call_policies(self) -> list[ModelPolicy]:
            return [ModelPolicy(name="mine", response=lambda state, response: response, **anchors)]

    with pytest.raises(CompositionError, match=words):
        compose("standard", plugins=[Plugin()])
