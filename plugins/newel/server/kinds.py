"""The kinds `Route`, `UserOf` and `BusBackend`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from newel_compose import Backend, Loader
from newel_kernel import Descriptor, Event, Settings, hookspec

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from newel.sessions.contract import SessionStore

#: The method of a route that is a WebSocket.
WEBSOCKET = "WEBSOCKET"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route(Loader):
    """A path of the API server and the endpoint behind it. Its name is unique, and the operation's id in OpenAPI.

    `load` imports and returns the endpoint: an async function of a `newel.server.Call`, marked with
    `newel.server.endpoint` if it takes a body or a query.
    """

    #: With parameters in braces; ``{name:path}`` takes the rest, with its slashes.
    path: str
    method: str = "GET"
    #: Further paths to the same endpoint, with the same parameters.
    aliases: tuple[str, ...] = ()
    #: Whether only `newel web` serves it.
    development: bool = False
    #: Whether it writes agent files: it is served only with `--builder`.
    builder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOf(Descriptor):
    """Says who calls. The setting `server.user_of` names the one that the server asks."""

    #: The user's id; None: whoever the request names. Raise a `newel.server.Refusal` for a caller that is not let in.
    user_of: Callable[[HTTPConnection], Awaitable[str | None]]


class EventBus(Protocol):
    """A bus on which a run's partial events, which no store has, reach the followers in other processes."""

    def publisher(self) -> object:
        """A plugin that sends the events of this process's runs. It is closed with the server, if it can be."""

    def follow(
        self, store: SessionStore, *, app_name: str, user_id: str, session_id: str, after: int
    ) -> AsyncGenerator[Event, None]:
        """The events of a session, without end: those stored after the first `after`, and partial ones between them.

        Stored events come from the store, each once and in order, also while the bus fails.
        """


class BusBackend(Backend[EventBus]):
    """Opens a bus from a URI of the scheme `name`; a distribution sets the URI of the server's under `services`."""

    service: ClassVar[str] = "bus"
    noun: ClassVar[str] = "bus"


@hookspec
def register_bus_backends(settings: Settings) -> Sequence[BusBackend]:
    """Buses that carry partial events to the server's other processes. Opens a bus from a URI of its scheme.

    >>> def open_bus(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_bus_backends(self):
    ...         return [BusBackend(name="double-decker", open=open_bus)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(BusBackend, "double-decker").name
    'double-decker'
    """
    return ()


@hookspec
def register_routes(settings: Settings) -> Sequence[Route]:
    """Routes of the API server. Imports and returns an endpoint.

    >>> def load_endpoint():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_routes(self):
    ...         return [Route(name="greet", path="/greet/{who}", load=load_endpoint)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(Route, "greet").path
    '/greet/{who}'
    """
    return ()


@hookspec
def register_user_ofs(settings: Settings) -> Sequence[UserOf]:
    """Ways to say who calls the API server.

    >>> async def by_header(connection):
    ...     return connection.headers["x-user"]
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_user_ofs(self):
    ...         return [UserOf(name="header", user_of=by_header)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(UserOf, "header").name
    'header'
    """
    return ()
