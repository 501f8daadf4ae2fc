"""Work: one run in a worker, which begins, goes on or has ended as its session's log says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from newel.claims import SessionBusyError, is_leasing
from newel.contexts.run_config import RunConfig
from newel.engines.closing import close_calls
from newel.engines.engine import Outcome, PostponedError, RunState
from newel.engines.entry import BegunError, Entry
from newel.engines.messages import message_of, remove_message
from newel.engines.places import AppRunner, place_of
from newel.engines.spec import InvocationSpec
from newel.engines.versions import Version, version_of
from newel.limits import NotAdmittedError, admitted
from newel.questions.given_answers import open_in
from newel.sessions.contract import SessionStore
from newel.sessions.errors import StoreUnavailableError
from newel.turns.pauses import pauses
from newel.turns.resumption import first_agent, has_ended
from newel_kernel import (
    Event,
    EventActions,
    FencedError,
    Log,
    Message,
    Session,
    SessionNotFoundError,
    StaleSessionError,
    StreamingMode,
    brief,
    seam,
)

if TYPE_CHECKING:
    from newel.engines.stepping import Stepping

#: How long a run waits for another one that has its session before it asks again, in seconds.
_LEAST, _MOST = 0.1, 2.0
#: How long another worker is given to fit a run that this one does not.
_MISFIT_SECONDS = 5.0


class AgentWork:
    """The work of a worker that has these apps: runs invocations of them."""

    def __init__(self, runners: Iterable[AppRunner]) -> None:
        self._runners = {runner.app_name: runner for runner in runners}
        self._versions: dict[str, Version] = {name: version_of(one) for name, one in self._runners.items()}
        self._under_way: dict[str, _Run] = {}

    @property
    def queues(self) -> list[str]:
        """The queues whose runs fit."""
        return [version.queue(name) for name, version in self._versions.items()]

    async def __call__(self, spec: InvocationSpec, stepping: Stepping | None = None) -> Outcome:
        """Run or resume the invocation; see `Work`."""
        if spec.key in self._under_way:
            raise PostponedError("this worker has the run already", _LEAST)
        run = self._under_way[spec.key] = _Run(self._knowing(spec), spec, stepping)
        try:
            return await run.outcome()
        finally:
            del self._under_way[spec.key]

    async def close(self, spec: InvocationSpec) -> Outcome:
        """End a run that no worker has; see `Work`."""
        runner, where = self._fitting(spec), place_of(spec)
        await close_calls(runner, where, spec.invocation_id)
        session = await runner.session_service.open(**where)
        return Outcome(state=RunState.CANCELLED, events=len(session.events) if session is not None else 0)

    def release(self, key: str) -> None:
        """End a run here for another worker to resume."""
        if (run := self._under_way.get(key)) is not None:
            run.release()

    def _fitting(self, spec: InvocationSpec) -> AppRunner:
        runner = self._runners.get(spec.app_name)
        if runner is None:
            raise PostponedError(f"this worker has no app {brief(spec.app_name)!r}", _MISFIT_SECONDS)
        if (misfit := self._versions[spec.app_name].misfit(spec)) is not None:
            raise PostponedError(misfit, _MISFIT_SECONDS)
        return runner

    def _knowing(self, spec: InvocationSpec) -> AppRunner:
        """The runner of a run that it understands: a newer submitter may ask for what only newer workers do."""
        if spec.model_extra:
            names = ", ".join(map(brief, sorted(spec.model_extra)))
            raise PostponedError(f"only a worker of a newer release knows its fields: {names}", _MISFIT_SECONDS)
        return self._fitting(spec)


class _Run:
    """One run of a worker, in a task of its own: its end is waited for, whoever cancels the caller."""

    def __init__(self, runner: AppRunner, spec: InvocationSpec, stepping: Stepping | None) -> None:
        self._runner = runner
        self._spec = spec
        self._stepping = stepping
        self._where = place_of(spec)
        self._is_released = False
        self._task = seam.spawn(self._ended(), name=f"run {spec.key}")

    def release(self) -> None:
        self._is_released = True
        self._task.cancel()

    async def outcome(self) -> Outcome:
        """Wait for the end; a cancellation of the caller cancels the run, and its end is the caller's."""
        caller, cancelled = asyncio.current_task(), 0
        while not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError:  # a second one does not wait for the clean-up
                cancelled += 1
                self._task.cancel()
        for _ in range(cancelled if caller is not None else 0):
            caller.uncancel()  # type: ignore[union-attr]
        if self._task.cancelled():  # before its first step
            return await self._cut()
        outcome: Outcome = self._task.result()
        return outcome

    async def _ended(self) -> Outcome:
        try:
            return await self._in_turn()
        except asyncio.CancelledError:
            return await self._cut()
        except (PostponedError, StoreUnavailableError):
            raise
        except (SessionBusyError, FencedError, BegunError) as error:
            raise PostponedError(f"another worker has the session ({type(error).__name__})", _LEAST * 5) from error
        except StaleSessionError as error:
            raise PostponedError("the session went on meanwhile", _LEAST) from error
        except Exception as error:  # noqa: BLE001 - a plugin boundary: the agent's own; the log has its text
            return Outcome(state=RunState.FAILED, events=await self._count(), error=type(error).__name__)

    async def _cut(self) -> Outcome:
        """How a run is left that was ended here: released, with its calls open, or cancelled."""
        if self._is_released:
            raise PostponedError("its worker drains", 0.0)
        await close_calls(self._runner, self._where, self._spec.invocation_id)
        return Outcome(state=RunState.CANCELLED, events=await self._count())

    async def _in_turn(self) -> Outcome:
        """Run, once the tenant may have one more."""
        tenant, runner = self._spec.tenant, self._runner
        if not tenant:
            return await self._run()
        try:
            async with admitted(runner.composition, runner.session_service, tenant, self._spec.key, self.release):
                return await self._run()
        except NotAdmittedError as error:
            raise PostponedError(str(error), error.seconds) from error

    async def _run(self) -> Outcome:
        session = await self._session()
        log, id_ = Log(session.events), self._spec.invocation_id
        begun = log.beginning(id_) is not None
        if begun and has_ended(self._runner.agent, log, id_):
            await remove_message(self._runner, self._spec)
            return Outcome(state=RunState.ENDED, events=len(session.events))
        content = None if begun else await message_of(self._runner, self._spec)
        entry = Entry(None if begun else id_, lambda: self._is_released, self._stepping)
        message = Message(content, id_ if begun else None, None if begun else self._spec.state_delta, mode=entry)
        events = self._runner.invoke(self._spec.user_id, self._spec.session_id, message, self._config())
        try:
            async with aclosing(events):
                async for _ in events:
                    pass
        finally:  # however it ends: whoever resumes it needs the message no more
            if entry.context is not None and Log(entry.context.session.events).beginning(id_) is not None:
                await remove_message(self._runner, self._spec)
        return await self._left(entry)

    async def _session(self) -> Session:
        """The session, which no other process has. It was there at the submission: a deleted one is not made again."""
        store = self._runner.session_service
        session = await store.open(**self._where)
        if session is None:
            raise SessionNotFoundError(f"there is no session {brief(self._spec.session_id)!r}")
        if is_leasing(store) and (holder := store.holder(session)) is not None:
            seconds = min(max(store.seconds_left(session), _LEAST), _MOST)
            raise PostponedError(f"another worker has the session ({holder})", seconds)
        return session

    def _config(self) -> RunConfig:
        spec = self._spec
        mode = StreamingMode.SSE if spec.streaming else StreamingMode.NONE
        return RunConfig(streaming_mode=mode, custom_metadata=spec.custom_metadata)

    async def _left(self, entry: Entry) -> Outcome:
        """How the run has left its session. An agent that does not note its end has it noted: it is not run again."""
        ctx = entry.context
        assert ctx is not None, "the run has entered its session"
        events, root = ctx.session.events, self._runner.agent
        log, id_ = Log(events), ctx.invocation_id
        if has_ended(root, log, id_):
            return Outcome(state=RunState.ENDED, events=len(events))
        if not pauses(ctx):
            first = first_agent(root, log, id_)
            end = Event(invocation_id=id_, author=(first or root).name, actions=EventActions(end_of_agent=True))
            if isinstance(store := self._runner.session_service, SessionStore):
                await store.append_out_of_band(**self._where, event=end)
            return Outcome(state=RunState.ENDED, events=await self._count())
        waits_for = tuple(one.id for one in open_in(events) if one.invocation_id == ctx.invocation_id)
        return Outcome(state=RunState.PAUSED, events=len(events), waits_for=waits_for)

    async def _count(self) -> int:
        with suppress(Exception):  # a number for people: the store may be away
            session = await self._runner.session_service.open(**self._where)
            return len(session.events) if session is not None else 0
        return 0
