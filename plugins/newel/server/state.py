"""State: what the requests of a server share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from newel.runners import Runner
from newel.runners.services import Services
from newel.runs.closing import Closing
from newel.server.apps import Apps
from newel.server.kinds import Route, UserOf
from newel.server.options import Options
from newel.server.settings import Settings
from newel_compose import Composition

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from newel.files.agent_source import AgentSource


class State:
    """A server's apps, its stores and the runners that exist so far."""

    def __init__(self, composition: Composition, apps: Apps, options: Options, services: Services) -> None:
        self.composition = composition
        self.apps = apps
        self.options = options
        self.services = services
        self.settings = composition.settings_of("server", Settings)
        self.user_of: Callable[[HTTPConnection], Awaitable[str | None]] | None = None
        if self.settings.user_of:
            self.user_of = composition.registry.find(UserOf, self.settings.user_of).user_of
        self._runners: dict[str, Runner] = {}

    @property
    def routes(self) -> list[Route]:
        """The routes that are served."""
        routes = self.composition.registry.all(Route)
        return [one for one in routes if self.options.development or not one.development]

    async def runner(self, app: str) -> Runner:
        """The runner of an app, made when it is first used."""
        if (runner := self._runners.get(app)) is not None:
            return runner
        source = await self.apps.source(app)
        if app not in self._runners:
            self._runners[app] = self._made(app, source)
        return self._runners[app]

    async def close(self) -> None:
        """Cancel the runs that are left, and close agents and stores; whatever fails, the others are closed too."""
        closing: list[Coroutine[Any, Any, object]] = [runner.close() for runner in self._runners.values()]
        closing += [service.close() for service in self.services if isinstance(service, Closing)]
        self._runners.clear()
        errors: list[Exception] = []
        for one in closing:
            try:
                await one
            except Exception as error:  # noqa: BLE001 - raised together at the end
                errors.append(error)
        if errors:
            raise ExceptionGroup("not everything closed", errors)

    def _made(self, app: str, source: AgentSource) -> Runner:
        return Runner(
            app=source.app,
            app_name=app,
            agent=None if source.app is not None else source.agent,
            composition=self.composition,
            session_service=self.services.session,
            artifact_service=self.services.artifact,
            memory_service=self.services.memory,
            credential_service=self.services.credential,
        )
