"""Recorder: notes what each step does to the requests of a composition's runs."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from newel.explanation.changes import changes_between
from newel.explanation.explanation import Explanation, Step
from newel.explanation.snapshot import snapshot
from newel_kernel import InvocationContext, Json, Key, LlmRequest, LlmResponse, seam

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered to a request, and how long that took, in seconds."""

    #: The request, as a recording has it.
    request: Json
    response: LlmResponse
    seconds: float


class Recording:
    """The steps of one request so far."""

    def __init__(self, ctx: InvocationContext, request: LlmRequest, number: int = 0) -> None:
        self.ctx = ctx
        #: Counts through the recordings of a recorder, from 1 on.
        self.number = number
        #: The request that went to the model, and that model; None: it has not gone there.
        self.sent: LlmRequest | None = None
        self.model: BaseLlm | None = None
        self.answer: Answer | None = None
        #: Answers to the request when it was asked again, edited or not.
        self.replays: list[Answer] = []
        self.agent = ctx.agent.name
        self.steps: list[Step] = []
        self.called = False
        self.before = self.after = snapshot(ctx, request)
        self._since = seam.monotonic()

    def begin(self, request: LlmRequest) -> None:
        """A step begins: what comes before it, and belongs to no step, is the declaration of the agent's tools."""
        if self.called:
            return
        seconds = seam.monotonic() - self._since
        changes = changes_between(self.after, now := snapshot(self.ctx, request))
        if changes:
            self.steps.append(Step(kind="tools", name=self.agent, seconds=seconds, changes=changes))
            self.after = now
        self._since = seam.monotonic()

    def end(self, request: LlmRequest, step: Step) -> None:
        """`step`, which began last, ends; its time and its changes are added to it."""
        if self.called:
            return
        seconds = seam.monotonic() - self._since
        changes = changes_between(self.after, now := snapshot(self.ctx, request))
        self.steps.append(replace(step, seconds=seconds, changes=changes))
        self.after = now
        self._since = seam.monotonic()

    def call(self, request: LlmRequest, model: BaseLlm) -> None:
        """The request goes to the model. What is done to it later, when it is sent again, is not noted."""
        if not self.called:
            self.begin(request)
            self.called, self.sent, self.model = True, request.model_copy(), model

    async def noted(self, answers: AsyncGenerator[LlmResponse, None]) -> AsyncGenerator[LlmResponse, None]:
        """The answers of the model, of which the last whole one is noted."""
        since = seam.monotonic()
        async with aclosing(answers):
            async for response in answers:
                if not response.partial:
                    self.answer = Answer(self.after, response, seam.monotonic() - since)
                yield response

    def explanation(self) -> Explanation:
        """What is noted so far."""
        return Explanation(
            agent=self.agent,
            session_id=self.ctx.session.id,
            invocation_id=self.ctx.invocation_id,
            branch=self.ctx.branch,
            before=self.before,
            after=self.after,
            steps=tuple(self.steps),
            called=self.called,
        )


#: Where a request takes its recording along.
RECORDING = Key[Recording]("recording of a request")


class Recorder:
    """The recordings of the latest requests; the oldest go first."""

    def __init__(self, most: int = 50) -> None:
        self.recordings: deque[Recording] = deque(maxlen=most)
        self._numbers = count(1)

    def of(self, ctx: InvocationContext, request: LlmRequest) -> Recording:
        """The recording of a request; a new one begins with its first step."""
        recording = request.stash.get(RECORDING, None)
        if recording is None:
            recording = request.stash[RECORDING] = Recording(ctx, request, next(self._numbers))
            self.recordings.append(recording)
        return recording

    def call(self, request: LlmRequest, model: BaseLlm) -> Recording | None:
        """A request goes to a model; the recording is None if no chain has built it."""
        recording = request.stash.get(RECORDING, None)
        if recording is not None:
            recording.call(request, model)
        return recording

    def explanations(self, session_id: str | None = None) -> list[Explanation]:
        """What is noted of the latest requests, the oldest first; with `session_id` only of that session."""
        return [one.explanation() for one in self.recordings if session_id is None or one.ctx.session.id == session_id]
