"""SubmittingRunner: hands runs to an engine, and follows and cancels them there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Unpack

from newel.runners.arguments import check_deps
from newel_kernel import ConfigurationError, Event, Message, Runner
from newel_types import deferred

if TYPE_CHECKING:
    from newel.artifacts.base_artifact_service import BaseArtifactService
    from newel.engines.engine import BaseEngine
    from newel.engines.places import Place
    from newel.engines.submissions import Submissions, SubmitOptions, SubmittedRun
    from newel_compose import Composition

_submissions_of = deferred("newel.engines.submissions", "submissions_of")


class SubmittingRunner(Runner):
    """What a `Runner` does with an engine, which may run its invocations elsewhere."""

    composition: Composition
    artifact_service: BaseArtifactService | None
    #: Whether it takes no more runs.
    _closed = False
    #: The agents that need deps, each with the type.
    _deps_types: Sequence[tuple[str, type]] = ()
    #: The caller's own engine; None: the distribution's, else one of this process.
    _engine: BaseEngine | None = None
    _submissions: Submissions | None = None

    def _message(
        self, content: Any, invocation_id: str | None, state: dict[str, Any] | None, yielded: bool, deps: object
    ) -> Message:
        if self._closed:
            raise ConfigurationError("this runner is closed: make another one, or close it when no more runs come")
        if self._deps_types:
            check_deps(self._deps_types, deps)
        return Message(content, invocation_id, state, yielded, None, deps)

    @property
    def engine(self) -> BaseEngine:
        """What hands submitted runs to workers: by default a queue of this runner, which ends with it."""
        return self._to_engine().engine

    async def submit(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: Any = None,
        invocation_id: str | None = None,
        state_delta: dict[str, Any] | None = None,
        **options: Unpack[SubmitOptions],
    ) -> SubmittedRun:
        """Hand one invocation to the engine, whose workers run it, whatever becomes of this process.

        `new_message` begins one, as `invocation_id` if that is given: the same id again is the same run. An answer to
        a run that waits is stored, and its run goes on. `invocation_id` alone resumes one. Submitted runs pause and
        resume in every app. Raises SpecRefusedError, which names the field that is wrong.
        """
        if new_message is None and invocation_id is None:
            raise ConfigurationError("submit needs a `new_message` or the `invocation_id` of a run to resume")
        self._message(new_message, invocation_id, state_delta, False, None)
        run: SubmittedRun = await self._to_engine().submit(
            user_id, session_id, new_message, invocation_id, state_delta, **options
        )
        return run

    def follow(
        self, *, user_id: str, session_id: str, invocation_id: str, after: int = 0
    ) -> AsyncGenerator[tuple[int, Event], None]:
        """The stored events of a submitted run, from any machine, until it ends or waits for an answer.

        Each comes with the number of events that the session had with it; those up to number `after` are left out.
        """
        return self._to_engine().follow(self._place(user_id, session_id), invocation_id, after)

    async def cancel_run(self, *, user_id: str, session_id: str, invocation_id: str) -> None:
        """End a submitted run, whether it is queued, running or paused; each open call gets its result event."""
        await self._to_engine().cancel(self._place(user_id, session_id), invocation_id)

    async def _telling(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """The events of a run that begins with an answer; then the engine is told, if the invocation is one of its own.

        So that it knows that the run has ended. The log decides: a worker that looks at the run does nothing again.
        """
        invocation_id = ""
        async with aclosing(events):
            async for event in events:
                invocation_id = event.invocation_id
                yield event
        if invocation_id:
            with suppress(Exception):  # whoever follows the run tells it, too
                await self.engine.signal(f"{self.app_name}:{invocation_id}")

    def _place(self, user_id: str, session_id: str) -> Place:
        return {"app_name": self.app_name, "user_id": user_id, "session_id": session_id}

    def _to_engine(self) -> Submissions:
        if self._submissions is None:
            self._submissions = _submissions_of()(self, self._engine)
        return self._submissions
