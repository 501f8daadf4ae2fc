"""Recorder: notes what each step does to the requests of a composition's runs."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from newel.explanation.changes import changes_between
from newel.explanation.explanation import Explanation, Step
from newel.explanation.snapshot import snapshot
from newel_kernel import InvocationContext, Key, LlmRequest, seam


class Recording:
    """The steps of one request so far."""

    def __init__(self, ctx: InvocationContext, request: LlmRequest) -> None:
        self.ctx = ctx
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

    def call(self, request: LlmRequest) -> None:
        """The request goes to the model. What is done to it later, when it is sent again, is not noted."""
        self.begin(request)
        self.called = True

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
_RECORDING = Key[Recording]("recording of a request")


class Recorder:
    """The recordings of the latest requests; the oldest go first."""

    def __init__(self, most: int = 50) -> None:
        self.recordings: deque[Recording] = deque(maxlen=most)

    def of(self, ctx: InvocationContext, request: LlmRequest) -> Recording:
        """The recording of a request; a new one begins with its first step."""
        recording = request.stash.get(_RECORDING, None)
        if recording is None:
            recording = request.stash[_RECORDING] = Recording(ctx, request)
            self.recordings.append(recording)
        return recording

    def call(self, request: LlmRequest) -> None:
        """A request goes to a model; it may be one that no chain has built."""
        if (recording := request.stash.get(_RECORDING, None)) is not None:
            recording.call(request)

    def explanations(self, session_id: str | None = None) -> list[Explanation]:
        """What is noted of the latest requests, the oldest first; with `session_id` only of that session."""
        return [one.explanation() for one in self.recordings if session_id is None or one.ctx.session.id == session_id]
