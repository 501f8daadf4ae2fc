"""Phases: the policies around a model, compiled into flat tuples, and the one generator that runs them.

It does what a generator for each policy would do, each around the next one's; a test compares the two.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import AsyncGeneratorType
from typing import Any

from pydantic import BaseModel

from newel.models.contract import BaseLlm
from newel.models.kinds import Attempt, ModelCall, ModelPolicy, Retry
from newel_kernel import HookSignatureError, LlmRequest, LlmResponse, Operation, current_operation

Responses = AsyncGenerator[LlmResponse, None]
_UNGUARDED = nullcontext()
_NONE: frozenset[int] = frozenset()


class Phases:
    """Policies, the outermost first, around a call. The level of a policy is its place among them, from 0 on."""

    def __init__(
        self, policies: Sequence[ModelPolicy], ask: ModelCall, model_of: Callable[[str], BaseLlm] | None = None
    ) -> None:
        #: Asks the model itself, or calls what a further policy wraps.
        self.ask = ask
        #: The model of an address.
        self.model_of = model_of
        levels = tuple(enumerate(policies))
        inside_out = levels[::-1]
        self.size = len(levels)
        openings = [(n, p.begin, p if p.redirect or p.enter else None) for n, p in levels if p.begin is not None]
        #: By the level from which an attempt begins.
        self.openings = [tuple(one for one in openings if one[0] >= start) for start in range(self.size + 1)]
        #: What `states` of a call begins as.
        self.states: tuple[Any, ...] = (None,) * (self.size + 1)
        #: The levels of the policies whose phases get the attempt itself.
        self.stateless = tuple(n for n, p in levels if p.begin is None)
        self.wholes = tuple((n, p.response) for n, p in inside_out if p.response is not None)
        self.chunks = tuple((n, p.chunk) for n, p in inside_out if p.chunk is not None)
        #: What happens at the end of an attempt, one phase after the other: (level, end, None) or (level, None, close).
        self.ends = tuple(
            (n, *one) for n, p in inside_out for one in ((p.end, None), (None, p.close)) if one != (None, None)
        )
        self.errors = tuple((n, p.error) for n, p in inside_out if p.error is not None)
        #: By level, for observers.
        self.names = tuple(p.name for p in policies)
        self.closings = tuple((n, p.close) for n, p in inside_out if p.close is not None)
        #: The level of the policy that holds waits, else the number of policies.
        self.guard = next((n for n, p in levels if p.holds_waits), self.size)

    async def answers(self, model: BaseLlm, request: LlmRequest, stream: bool) -> Responses:  # noqa: C901 - one screen
        """The responses of a call within the policies. Each chunk passes here."""
        attempt, size, origin = Attempt(model, request, stream), self.size, 0
        states, answered, answer, source, call = [*self.states], size, None, None, None  # few calls need a `_Call`
        for level in self.stateless:
            states[level] = attempt
        try:
            while True:
                level = 0 if answer is None else -1  # of the phase that runs; `size`: the model, -1: `call` knows it
                try:
                    if answer is None:
                        for level, begin, more in self.openings[origin]:
                            states[level] = begin(attempt if call is None else call.attempts[level])
                            if more is not None and states[level] is not None:
                                call = call or _Call(self, attempt, states)
                                await call.enter(level, more)
                        level = origin = size
                        attempt = attempt if call is None else call.attempts[size]
                        asked = self.ask(attempt.model, attempt.request, attempt.stream)
                        source = asked if asked.__class__ is AsyncGeneratorType else _generator(attempt.model, asked)
                        guard = _UNGUARDED if (held := states[self.guard]) is None else held
                        while True:
                            try:
                                with guard:
                                    response = await source.__anext__()
                            except StopAsyncIteration:
                                break
                            if response.__class__ is not LlmResponse:
                                _check(attempt.model, response)
                            for level, phase in self.chunks if response.partial else self.wholes:
                                if (state := states[level]) is not None:
                                    if (made := phase(state, response)) is None:
                                        answered = min(answered, level)
                                        break
                                    response = made
                            else:
                                answered, level = -1, 0  # an error that the caller throws in is not the model's
                                yield response
                            level = size
                        source = None
                    elif call is not None:  # it has the answer, or a response that the policy at `origin` adds
                        last, answered = call.passed(answer, origin, answered), call.answered
                        if last is not None:
                            yield last
                    for level, end, close in self.ends:
                        if (state := states[level]) is not None and close is not None:
                            states[level] = None
                            close(state)
                        elif state is not None and level < origin and (answer := end(state)) is not None:
                            origin, call = level, call or _Call(self, attempt, states)
                            break
                    else:
                        return
                except Exception as error:  # noqa: BLE001 - a plugin boundary; raised again unless a policy recovers
                    call = call or _Call(self, attempt, states)
                    call.source, source = source, None
                    origin, answer, answered = await call.recover(error, level, answered)
        except BaseException:
            await (call or _Call(self, attempt, states)).abandon(source)
            raise


class _Call:
    """A call of a model that fails, begins again, waits, or has responses added: what few calls do."""

    __slots__ = ("answered", "attempts", "earlier", "level", "phases", "source", "states")

    def __init__(self, phases: Phases, attempt: Attempt, states: list[Any]) -> None:
        self.phases = phases
        #: By level: the call as the policy sees it; last, as the model gets it.
        self.attempts = [attempt] * (phases.size + 1)
        #: By level: what `begin` made, or the attempt; None while the policy has nothing to do. Last, always None.
        self.states = states
        #: The level of the phase that runs after the last response of an attempt.
        self.level: int
        self.source: Responses | None = None
        #: The outermost level that a response of this attempt has come to.
        self.answered = phases.size
        #: The levels that a response of an earlier attempt, which is still theirs, has come to.
        self.earlier: frozenset[int] = _NONE

    async def enter(self, level: int, policy: ModelPolicy) -> None:
        """The phases of a beginning that few policies have."""
        state = self.states[level]
        try:
            if policy.redirect is not None and (model := policy.redirect(state)) is not None:
                request = self.attempts[level].request
                request.model = self._ask(model, request, level + 1).model
            if policy.enter is not None:
                await policy.enter(state)
        except BaseException:
            self.states[level] = None  # there is nothing to close
            raise

    def _ask(self, model: BaseLlm | str, request: LlmRequest, start: int) -> BaseLlm:
        """Let the policies from the level `start` on ask another model; returns that."""
        if isinstance(model, str):
            assert self.phases.model_of is not None, "only a composition knows addresses"
            model = self.phases.model_of(model)
        self._restart(Attempt(model, request, self.attempts[0].stream), start)
        return model

    def _restart(self, attempt: Attempt, start: int) -> None:
        """Make `attempt` what the policies from the level `start` on see."""
        self.attempts[start:] = [attempt] * (self.phases.size + 1 - start)
        for level in self.phases.stateless:
            if level >= start:
                self.states[level] = attempt

    def passed(self, response: LlmResponse, origin: int, answered: int) -> LlmResponse | None:
        """What the policies outside of the level `origin` make of a response that one of them added."""
        self.answered = answered
        for level, phase in self.phases.chunks if response.partial else self.phases.wholes:
            if level < origin and (state := self.states[level]) is not None:
                self.level = level
                if (made := phase(state, response)) is None:
                    self.answered = min(self.answered, level)
                    return None
                response = made
        self.answered, self.level = -1, 0  # an error that the caller throws in is nobody's
        return response

    async def recover(self, error: Exception, origin: int, answered: int) -> tuple[int, LlmResponse | None, int]:
        """End the policies from the inside out, up to one outside of the level `origin` that knows what to do.

        Returns the level from which the call begins again, and None; or the level of an answer, and that. Raises the
        error if no policy knows what to do.
        """
        self.answered = answered
        if origin < 0:
            origin = self.level
        try:
            await self.stop()
        except Exception as problem:  # noqa: BLE001 - a plugin boundary: the model's; the policies see it
            error, origin = problem, self.phases.size
        for level, phase in self.phases.errors:
            if level >= origin or (state := self.states[level]) is None:
                continue
            try:
                self.close(level + 1)
                answered = self.answered <= level or level in self.earlier
                found = phase(state, error, answered)
                recovery = await found if inspect.isawaitable(found) else found
                if isinstance(recovery, Retry):
                    return await self._retry(recovery, level, error)
            except Exception as problem:  # noqa: BLE001 - a plugin boundary; the policies further out see it
                error = problem
                continue
            if recovery is not None:
                return level, recovery, self.answered
        raise error

    async def _retry(self, retry: Retry, level: int, error: Exception) -> tuple[int, None, int]:
        if retry.model is None:
            self._restart(self.attempts[level + 1], level + 1)
        else:
            request = self.attempts[level].request.model_copy()
            request.model = self._ask(retry.model, request, level + 1).model
        reached = self.earlier.union(range(max(self.answered, 0), self.phases.size))
        self.earlier = reached.intersection(range(level + 1))
        self.answered = self.phases.size
        with _observed(self.phases.names[level], retry, error):
            if retry.delay is not None:
                await asyncio.sleep(retry.delay)
        return level + 1, None, self.answered

    def close(self, start: int) -> None:
        """Close the policies from the level `start` on, the innermost first."""
        states = self.states
        for level, close in self.phases.closings:
            if level >= start and (state := states[level]) is not None:
                states[level] = None
                close(state)

    async def abandon(self, source: Responses | None) -> None:
        """Close the model's generator and all policies."""
        self.source = source
        try:
            await self.stop()
        finally:
            self.close(0)

    async def stop(self) -> None:
        """Close the model's generator, unless it is exhausted."""
        if (source := self.source) is not None:
            self.source = None
            await source.aclose()


def _observed(policy: str, retry: Retry, error: Exception) -> AbstractContextManager[object]:
    """The operation ``retry`` around a wait: observers learn which policy asks again, and why."""
    if (parent := current_operation.get()) is None:
        return _UNGUARDED
    ids = parent.session_id, parent.invocation_id
    return Operation("retry", policy, *ids, retry, error, parent, parent.observers).running()


def _generator(model: BaseLlm, answers: object) -> Responses:
    """What a model returned, if it can be used as an async generator."""
    if isinstance(answers, AsyncGenerator):
        return answers
    if inspect.iscoroutine(answers):
        answers.close()  # nothing will await it
    raise HookSignatureError(
        f"the model {type(model).__qualname__}: generate_content_async returned {type(answers).__name__}; it must be "
        f"an async generator, which yields responses"
    )


def _check(model: BaseLlm, response: object) -> None:
    if not isinstance(response, (LlmResponse, BaseModel)):  # another library's LlmResponse is accepted
        raise HookSignatureError(
            f"the model {type(model).__qualname__}: generate_content_async yielded {type(response).__name__}; it must "
            f"yield LlmResponse"
        )
