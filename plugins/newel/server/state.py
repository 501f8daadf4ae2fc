"""State: what the requests of a server share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from newel.runners import Runner
from newel.runners.services import Services
from newel.runs import Run, RunRefusedError
from newel.runs.closing import Closing
from newel.server.apps import Apps
from newel.server.kinds import EventBus, Route, UserOf
from newel.server.operations.load import LOAD
from newel.server.options import Options
from newel.server.settings import Settings
from newel.server.wire import Wire
from newel_compose import Composition
from newel_kernel import Stash
from newel_types import deferred

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from newel.engines.engine import BaseEngine
    from newel.files.agent_source import AgentSource
    from newel.server.call_log import Calls
    from newel.server.stored import Stored
    from newel.server.traces import Traces

#: What knows the runs of workers loads with the first.
_end_engine_runs = deferred("newel.server.engine_sessions", "end_runs")
#: What a client is told that asks for a run while the server is about to end.
_DRAINING = "the server is about to end: try again"
#: When those who are refused a run may ask again, in seconds: once others have ended, or another process serves.
_FULL_SECONDS, _DRAIN_SECONDS = 1, 5
#: How long a deletion waits for the end of a run, in seconds.
_PATIENCE = 10.0


class State:
    """A server's apps, its stores and the runners that exist so far."""

    def __init__(
        self,
        composition: Composition,
        apps: Apps,
        options: Options,
        services: Services,
        traces: Traces | None = None,
        bus: EventBus | None = None,
        publisher: object = None,
        calls: Calls | None = None,
        stored: Stored | None = None,
        engine: BaseEngine | None = None,
    ) -> None:
        self.composition = composition
        self.apps = apps
        self.options = options
        self.services = services
        #: The spans of recent runs; None: nobody looks at them.
        self.traces = traces
        #: How the requests of recent model calls came to be; None: nobody looks at them.
        self.calls = calls
        #: The sessions that the server shows, and which it does not change; None: it runs agents.
        self.stored = stored
        #: Hands the runs to workers in other processes; None: they run here.
        self.engine = engine
        #: Tells of the runs of other processes; None: only the store does.
        self.bus = bus
        self._publisher = publisher
        self.settings = composition.settings_of("server", Settings)
        self.user_of: Callable[[HTTPConnection], Awaitable[str | None]] | None = None
        if self.settings.user_of:
            self.user_of = composition.registry.find(UserOf, self.settings.user_of).user_of
        #: What endpoints keep as long as the server.
        self.stash = Stash()
        #: What ends with the server, before its runners do.
        self.closing: list[Closing] = []
        #: Whether runs that are left are cancelled, because the server ends.
        self.cuts = False
        self._runners: dict[str, Runner] = {}
        self._wires: dict[str, Wire] = {}
        #: Writes sessions and events whose agents are of no interest.
        self.bare_wire = Wire()

    @property
    def routes(self) -> list[Route]:
        """The routes that are served."""
        routes = self.composition.registry.all(Route)
        served = [one for one in routes if self.options.development or not one.development]
        served = [one for one in served if self.options.builder or not one.builder]
        return served if self.stored is None else [one for one in served if one.method == "GET"]

    async def app_names(self) -> list[str]:
        """The names of the apps, sorted: those that are served, or those that have stored sessions."""
        if self.stored is None:
            return list(self.apps.places())
        return sorted({one.app_name for one in await self.stored.sessions.owners()})

    def admit(self) -> None:
        """Raise RunRefusedError if no further run may begin: the server is about to end, or has all that it can carry.

        Each run that a runner of the server starts asks here, whichever door its client came by.
        """
        if LOAD.draining:
            raise RunRefusedError(_DRAINING, _DRAIN_SECONDS, is_full=False)
        most = self.options.max_runs
        if sum(len(one.runs) for one in self._runners.values()) + LOAD.live >= most:
            text = f"{most} runs are under way: try again, or start the server with a larger --max-runs"
            raise RunRefusedError(text, _FULL_SECONDS, is_full=True)

    async def runner(self, app: str) -> Runner:
        """The runner of an app, made when it is first used."""
        if (runner := self._runners.get(app)) is not None:
            return runner
        source = await self.apps.source(app)
        if app not in self._runners:
            self._runners[app] = self._made(app, source)
        return self._runners[app]

    async def wire(self, app: str) -> Wire:
        """What writes the events of an app; one that cannot be loaded has no tree of agents."""
        if not self.settings.agent_paths:
            return self.bare_wire
        if (wire := self._wires.get(app)) is not None:
            return wire
        try:
            source = await self.apps.source(app)
        except Exception:  # noqa: BLE001 - importing an app runs its code
            return self.bare_wire
        self._wires[app] = wire = Wire(source.agent)
        return wire

    def is_running(self, app: str) -> bool:
        """Whether a run of an app is under way in this process."""
        return app in self._runners and bool([*self._runners[app].runs])

    async def forget(self, app: str) -> None:
        """Have an app loaded again when it is next used."""
        self.apps.forget(app)
        self._wires.pop(app, None)
        if (runner := self._runners.pop(app, None)) is not None:
            await runner.close()

    def runs_of(self, app_name: str, user_id: str, session_id: str | None = None) -> list[Run]:
        """The runs of a user, or of one of their sessions, that are under way in this process."""
        if (runner := self._runners.get(app_name)) is None:
            return []
        if session_id is not None:
            return runner.runs.of_session(user_id, session_id)
        return [run for run in runner.runs if run.user_id == user_id]

    def runs(self) -> list[Run]:
        """All runs that are under way in this process, whether or not anyone follows them."""
        return [run for runner in self._runners.values() for run in runner.runs]

    async def cancel_runs(self, seconds: float) -> None:
        """Cancel all runs because the server ends, and wait at most `seconds` for their ends."""
        self.cuts = True
        runs = self.runs()
        for run in runs:
            run.cancel()
        await asyncio.gather(*(run.wait(seconds) for run in runs))

    def running(self) -> dict[str, tuple[int, int]]:
        """App -> its runs under way in this process, and those of them that wait for another run of their session."""
        found: dict[str, tuple[int, int]] = {}
        for app, runner in sorted(self._runners.items()):
            runs = [*runner.runs]
            found[app] = (len(runs), len(runs) - len({(run.user_id, run.session_id) for run in runs}))
        return found

    async def end_runs(self, app_name: str, user_id: str, session_id: str) -> None:
        """Cancel the runs of a session, and wait for their ends."""
        for run in self.runs_of(app_name, user_id, session_id):
            run.cancel()
            await run.wait(_PATIENCE)
        if self.engine is not None:
            where = {"app_name": app_name, "user_id": user_id, "session_id": session_id}
            await _end_engine_runs()(self.engine, self.services.session, where, _PATIENCE)

    async def close(self) -> None:
        """Cancel the runs that are left, and close agents and stores; whatever fails, the others are closed too."""
        self.cuts = True
        closing: list[Coroutine[Any, Any, object]] = [one.close() for one in self.closing]
        closing += [runner.close() for runner in self._runners.values()]
        closing += [
            service.close()
            for service in (self._publisher, self.engine, *self.services)
            if isinstance(service, Closing)
        ]
        self._runners.clear()
        self.closing.clear()
        errors: list[Exception] = []
        for one in closing:
            try:
                await one
            except Exception as error:  # noqa: BLE001 - raised together at the end
                errors.append(error)
        if errors:
            raise ExceptionGroup("not everything closed", errors)

    def _made(self, app: str, source: AgentSource) -> Runner:
        runner = Runner(
            app=source.app,
            app_name=app,
            node=None if source.app is not None else source.agent,
            composition=self.composition,
            session_service=self.services.session,
            artifact_service=self.services.artifact,
            memory_service=self.services.memory,
            credential_service=self.services.credential,
            engine=self.engine,
        )
        runner.runs.admit = self.admit
        if self.calls is not None:
            self.calls.watch(runner)
        return runner
