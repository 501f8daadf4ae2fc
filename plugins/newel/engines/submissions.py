"""Submissions: a runner's runs that an engine hands to workers, and the answers to them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, TypedDict

from newel.engines.answers import (
    LOOK_SECONDS,
    AnsweredBeforeError,
    FirstAnswers,
    check_first,
    check_open,
    check_waits,
    takes_credentials,
)
from newel.engines.closing import close_calls
from newel.engines.endings import RunFailedError, ending_of
from newel.engines.engine import OVER, BaseEngine, EngineWorker, RunRecord, RunState, SpecRefusedError
from newel.engines.entry import Entry
from newel.engines.following import Numbered, follow
from newel.engines.inline import InlineEngine
from newel.engines.kinds import EngineBackend
from newel.engines.messages import keep_message, remove_message, with_message
from newel.engines.places import AppRunner, Place, place_of
from newel.engines.spec import InvocationSpec, check_same, new_spec
from newel.engines.versions import version_of
from newel.engines.work import AgentWork
from newel.questions.answer_checks import check_answers
from newel.questions.precedence import HANDED_OVER
from newel.sessions.contract import WatchedSessions
from newel.turns.resumption import continued
from newel_kernel import (
    Event,
    Json,
    Log,
    Message,
    RunConfig,
    Session,
    SessionNotFoundError,
    Turn,
    brief,
    received,
)
from newel_types import Content


class SubmitOptions(TypedDict, total=False):
    """How a submitted run is run."""

    #: Whether its partial events are sent by the bus.
    streaming: bool
    #: What each of its events bears.
    custom_metadata: Json | None
    #: How long it may take from now to its end; None: no limit.
    seconds: float | None
    #: From 1, first, to 5, last.
    priority: int
    #: Whose share of the workers it takes.
    tenant: str


class SubmittedRun:
    """A run that an engine has: it is followed, awaited and cancelled from any machine."""

    def __init__(self, submissions: Submissions, spec: InvocationSpec) -> None:
        self._submissions = submissions
        self.spec = spec

    @property
    def key(self) -> str:
        """What the engine knows the run by."""
        return self.spec.key

    @property
    def invocation_id(self) -> str:
        """The id of the invocation."""
        return self.spec.invocation_id

    async def record(self) -> RunRecord:
        """What the engine knows about it; RunFailedError if it has forgotten it."""
        if (record := await self._submissions.engine.record(self.key)) is None:
            raise RunFailedError(f"the engine knows no run {brief(self.key)!r} any more")
        return record

    def follow(self, after: int = 0) -> AsyncGenerator[Numbered, None]:
        """The stored events behind the first `after` of the session, each with its number, until it ends or waits."""
        return self._submissions.follow(place_of(self.spec), self.invocation_id, after)

    async def wait(self) -> Event | None:
        """Wait until the run has ended or waits for an answer; the last final answer, or None.

        Raises RunFailedError, and RunCancelledError.
        """
        answer: Event | None = None
        async with aclosing(self.follow()) as events:
            async for _, event in events:
                says = bool(event.text) or event.output is not None
                if says and event.author != "user" and event.is_final_response():
                    answer = event
        if (error := ending_of(await self.record())) is not None:
            raise error
        return answer

    async def cancel(self) -> None:
        """End the run; each open call gets its result event."""
        await self._submissions.cancel(place_of(self.spec), self.invocation_id)


class Submissions:
    """What a runner hands to an engine. An engine of this process gets a worker here, if it is the runner's own."""

    def __init__(self, runner: AppRunner, engine: BaseEngine, *, own: bool = False) -> None:
        self._runner = runner
        self.engine = engine
        self._is_own = own
        self._worker: EngineWorker | None = None

    async def submit(
        self,
        user_id: str,
        session_id: str,
        message: object = None,
        invocation_id: str | None = None,
        state_delta: Json | None = None,
        **options: Any,
    ) -> SubmittedRun:
        """Hand over a run that begins with the message or resumes the invocation, or the answer to one that waits."""
        content = received(message) if message is not None else None
        spec = self._spec(user_id, session_id, invocation_id, state_delta, options)
        session = await self._session(spec)
        log = Log(session.events)
        if content is None:
            return await self._resumed(spec, log)
        turn = log.turn(content)
        if turn.answered:
            check_answers(turn)
            if not takes_credentials(self.engine, self._runner):
                check_open(log, turn.answered)
        if (waiting := continued(self._runner.agent, turn, True)) is not None:
            message = Message(content, None, spec.state_delta, mode=Entry())
            goes_on = spec.model_copy(update={"invocation_id": waiting, "state_delta": None})
            return await self._answered(goes_on, session, turn, message)
        check_first(log, turn.answered)
        return await self._begun(spec, content, log)

    def follow(self, where: Place, invocation_id: str, after: int = 0) -> AsyncGenerator[Numbered, None]:
        """The stored events of a run."""
        return follow(self._runner.session_service, self.engine, where, invocation_id, after)

    async def cancel(self, where: Place, invocation_id: str) -> None:
        """End a run; RunNotFoundError if there is none."""
        key = f"{where['app_name']}:{invocation_id}"
        before = await self.engine.record(key)
        if before is not None and (before.spec.user_id, before.spec.session_id) != (
            where["user_id"],
            where["session_id"],
        ):
            raise SpecRefusedError(f"session_id: the run {brief(key)!r} is of another session")
        await self.engine.cancel(key)
        # A worker closes its own; whoever was told that the store is away cancels again.
        if before is not None and before.state in (RunState.PAUSED, RunState.QUEUED, RunState.CANCELLED):
            await close_calls(self._runner, where, invocation_id)
        if isinstance(store := self._runner.session_service, WatchedSessions):
            await store.wake(**where)

    async def close(self) -> None:
        """Let go of the engine, if it is the runner's own."""
        if self._worker is not None:
            await self._worker.drain(0)
        if self._is_own:
            await self.engine.close()

    def _spec(
        self, user_id: str, session_id: str, invocation_id: str | None, state_delta: Json | None, options: Json
    ) -> InvocationSpec:
        """The spec without its message."""
        if unknown := sorted(options.keys() - SubmitOptions.__annotations__.keys()):
            takes = ", ".join(SubmitOptions.__annotations__)
            raise SpecRefusedError(f"{unknown[0]}: submit takes no such option; it takes {takes}")
        version = version_of(self._runner)
        named = {"invocation_id": invocation_id} if invocation_id is not None else {}
        where: Json = {"app_name": self._runner.app_name, "user_id": user_id, "session_id": session_id}
        fields: Json = {**where, **named, **options, "version": version.version, "lock": version.lock}
        return new_spec(**fields, state_delta=state_delta)

    async def _session(self, spec: InvocationSpec) -> Session:
        where = place_of(spec)
        store = self._runner.session_service
        if (session := await store.open(**where)) is not None:
            return session
        if not self._runner.auto_create_session:
            raise SessionNotFoundError(
                f"session_id: there is no session {brief(spec.session_id)!r} (app {spec.app_name!r}, user "
                f"{brief(spec.user_id)!r})"
            )
        return await store.create_session(**where)

    async def _resumed(self, spec: InvocationSpec, log: Log) -> SubmittedRun:
        """An invocation of the log, which goes on where it was left."""
        if log.beginning(spec.invocation_id) is None:
            raise SpecRefusedError(f"invocation_id: the session has no invocation {brief(spec.invocation_id)!r}")
        return await self._again(spec, await self.engine.record(spec.key))

    async def _begun(self, spec: InvocationSpec, content: Content, log: Log) -> SubmittedRun:
        """A run that begins with the message, or the same run submitted before."""
        spec, data = with_message(spec, content)
        known = await self.engine.record(spec.key)
        if known is None and log.beginning(spec.invocation_id) is not None:
            raise SpecRefusedError(
                f"invocation_id: the session has an invocation {brief(spec.invocation_id)!r}; to resume it, leave out "
                f"new_message"
            )
        if known is not None:
            check_same(known.spec, spec)
        if known is not None or data is None:
            return await self._handed_over(spec)
        await keep_message(self._runner, spec, data)
        try:
            return await self._handed_over(spec)
        finally:
            await self._drop_message(spec)

    async def _drop_message(self, spec: InvocationSpec) -> None:
        """Delete the artifact of a message that no run needs: the engine refused it, or its run was quicker."""
        with suppress(Exception):  # it is only left behind
            record = await self.engine.record(spec.key)
            needs = record is not None and record.spec.message_artifact == spec.message_artifact
            if not needs or (record is not None and record.state in (RunState.PAUSED, RunState.ENDED)):
                await remove_message(self._runner, spec)

    async def _answered(self, spec: InvocationSpec, session: Session, turn: Turn, message: Message) -> SubmittedRun:
        """A run that waits, or one that is not this engine's; its answer is stored if it is the first.

        The engine knows of the run before that, and looks at it later in any case: who answers may die meanwhile. The
        record by which the answer is taken is the only one that is read: a run that ends meanwhile is not revived.
        """
        record = await self.engine.record(spec.key)
        if record is not None and turn.answered:
            check_waits(record)
        try:
            check_first(turn.log, turn.answered)
            run = await self._again(spec, record, seconds=LOOK_SECONDS)
            config = RunConfig(custom_metadata={**(spec.custom_metadata or {}), HANDED_OVER: True})
            first = FirstAnswers(self._runner.session_service)
            if not await self._runner.take_in(session, message, config, first):  # a late answer is left out
                check_first(Log((await self._session(spec)).events), turn.answered)
        except AnsweredBeforeError:
            if record is not None:  # whoever stored the first answer may not have said so
                await self.engine.signal(spec.key)
            raise
        await self.engine.signal(run.key)
        return run

    async def _again(self, spec: InvocationSpec, known: RunRecord | None, *, seconds: float = 0.0) -> SubmittedRun:
        """The run of a spec without a message: the engine's, to be resumed now or in `seconds`, or a new one."""
        if known is None:
            run = await self._handed_over(spec)
        elif place_of(known.spec) != place_of(spec):
            raise SpecRefusedError(f"invocation_id: the run {brief(spec.key)!r} is of another session")
        else:
            await self._work()
            run = SubmittedRun(self, known.spec)
            if known.state in OVER - {RunState.ENDED}:
                await self.engine.retry(spec.key)
        if known is not None or seconds:
            await self.engine.signal(spec.key, seconds=seconds)
        return run

    async def _handed_over(self, spec: InvocationSpec) -> SubmittedRun:
        await self._work()
        return SubmittedRun(self, (await self.engine.submit(spec)).spec)

    async def _work(self) -> None:
        if self._is_own and self.engine.in_process and self._worker is None:
            work = AgentWork([self._runner])
            self._worker = self.engine.worker(work, work.queues)
            await self._worker.start()


def submissions_of(runner: AppRunner, engine: BaseEngine | None) -> Submissions:
    """The submissions of a runner to an engine of its caller, else to that of its distribution, else to its own."""
    if engine is not None:
        return Submissions(runner, engine)
    return Submissions(runner, runner.composition.open_service(EngineBackend) or InlineEngine(), own=True)
