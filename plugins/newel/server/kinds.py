"""The kinds `Route` and `UserOf`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from newel_compose import Loader
from newel_kernel import Descriptor, Settings, hookspec

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

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


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOf(Descriptor):
    """Says who calls. The setting `server.user_of` names the one that the server asks."""

    #: The user's id; None: whoever the request names. Raise a `newel.server.Refusal` for a caller that is not let in.
    user_of: Callable[[HTTPConnection], Awaitable[str | None]]


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
