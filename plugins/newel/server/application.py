"""The server as an ASGI app, to be served by itself or mounted in another one."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeVar

from newel.artifacts import InMemoryArtifactService
from newel.artifacts.kinds import ArtifactBackend
from newel.auth.credential_service.in_memory_credential_service import InMemoryCredentialService
from newel.auth.kinds import CredentialBackend
from newel.engines.kinds import EngineBackend
from newel.memory import InMemoryMemoryService
from newel.memory.kinds import MemoryBackend
from newel.runners import open_services
from newel.server.apps import Apps
from newel.server.kinds import BusBackend, EventBus, Route
from newel.server.metrics.accounts import Accounts
from newel.server.metrics.plugin import ROUTE
from newel.server.middleware import wrapped
from newel.server.options import Options
from newel.server.routing import Routing, Table
from newel.server.state import State
from newel.server.traces import Traces
from newel.sessions.kinds import SessionBackend
from newel_compose import Backend, Composition, compose_once, extend
from newel_kernel import BaseSessionService, ConfigurationError
from newel_types import deferred

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from newel.artifacts.base_artifact_service import BaseArtifactService
    from newel.auth.credential_service.base_credential_service import BaseCredentialService
    from newel.engines.engine import BaseEngine
    from newel.memory.base_memory_service import BaseMemoryService

S = TypeVar("S")
_calls = deferred("newel.server.call_log", "Calls")


class Application:
    """An ASGI app that serves agents under google-adk's paths."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._app: ASGIApp = wrapped(Routing(Table(state.routes), state), state.options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def close(self) -> None:
        """Cancel the runs and close the stores. A server that serves the app by itself does it at its end."""
        await self.state.close()


def app(
    agents_dir: str | PathLike[str] | None = None,
    *,
    agents: Mapping[str, Any] | None = None,
    session_service: BaseSessionService | str | None = None,
    artifact_service: BaseArtifactService | str | None = None,
    memory_service: BaseMemoryService | str | None = None,
    credential_service: BaseCredentialService | str | None = None,
    bus: EventBus | str | None = None,
    engine: BaseEngine | str | None = None,
    distribution: str | None = None,
    composition: Composition | None = None,
    options: Options | None = None,
) -> Application:
    """The API server as an ASGI app; mounted in a FastAPI or Starlette app it works under any prefix.

    `agents_dir` is a folder of agents (or one agent, as a command takes it); `agents` maps names to agents and apps of
    your own. A service is an object or a URI; by default the distribution's. By the `bus`, partial events reach
    followers of a run at other processes. With an `engine` that processes share, its workers run what is sent here.
    """
    if agents_dir is None and not agents:
        raise ConfigurationError("app() needs agents_dir=, a folder of agents, or agents=, a dict of agents by name")
    options = options or Options()
    composed = composition if composition is not None else compose_once(distribution)
    traces = Traces() if options.development else None
    accounts = Accounts() if _counts(composed) else None
    opened_bus = composed.open_service(BusBackend, bus) if bus is None or isinstance(bus, str) else bus
    publisher = opened_bus.publisher() if opened_bus is not None else None
    composed = extend(composed, [one for one in (accounts, traces, publisher) if one is not None])
    opened = open_services(
        composed,
        None,
        store_of(composed, SessionBackend, session_service),
        store_of(composed, ArtifactBackend, artifact_service),
        store_of(composed, MemoryBackend, memory_service),
        store_of(composed, CredentialBackend, credential_service),
    )
    # Every app can have them, as with google-adk's server.
    services = opened._replace(
        artifact=opened.artifact or InMemoryArtifactService(),
        memory=opened.memory or InMemoryMemoryService(),
        credential=opened.credential or InMemoryCredentialService(),
    )
    apps = Apps(composed, fspath(agents_dir) if agents_dir is not None else None, agents)
    calls = _calls()() if options.development else None
    shared = _shared(store_of(composed, EngineBackend, engine) or composed.open_service(EngineBackend))
    return Application(State(composed, apps, options, services, traces, opened_bus, publisher, calls, engine=shared))


def _shared(engine: BaseEngine | None) -> BaseEngine | None:
    """The engine, unless its runs are this process's: these need none."""
    return None if engine is None or engine.in_process else engine


def _counts(composition: Composition) -> bool:
    """Whether somebody can read the metrics."""
    return any(route.name == ROUTE for route in composition.registry.all(Route))


def store_of(composition: Composition, kind: type[Backend[S]], service: S | str | None) -> S | None:
    """The caller's store, opened if it is a URI; None: the distribution's."""
    return composition.open_service(kind, service) if isinstance(service, str) else service
