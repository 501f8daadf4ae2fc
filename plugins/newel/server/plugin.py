"""The plugin of the API server: its kinds, its settings and its own routes."""

from __future__ import annotations

from pydantic import BaseModel

from newel.server import development, kinds
from newel.server.kinds import Route, UserOf
from newel.server.operations.table import OPERATIONS
from newel.server.settings import Settings as ServerSettings
from newel.server.table import ROUTES
from newel_kernel import Descriptor, FeatureUnavailableError, Kind, Settings, hookimpl
from newel_types import deferred

_bearer_jwt = deferred("newel.server.security.bearer_jwt", "BearerJwt")


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The routes, who calls, and the bus between processes."""
    return [
        Kind(kinds.Route, kinds.register_routes),
        Kind(kinds.UserOf, kinds.register_user_ofs),
        Kind(kinds.BusBackend, kinds.register_bus_backends),
    ]


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return ServerSettings


@hookimpl
def register_routes() -> list[Route]:
    """The routes of google-adk, and newel's own."""
    return [*ROUTES, *OPERATIONS, *development.ROUTES]


@hookimpl
def register_user_ofs(settings: Settings) -> list[UserOf]:
    """Who calls, by a token of an identity provider."""
    own = settings["server"]
    assert isinstance(own, ServerSettings)
    if own.jwt is None:
        return []
    try:
        return [UserOf(name="jwt", user_of=_bearer_jwt()(own.jwt))]
    except ImportError as error:
        raise FeatureUnavailableError(f"server.jwt needs {error.name}: pip install 'newel[server]'") from error
