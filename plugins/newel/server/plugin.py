"""The plugin of the API server: its kinds, its settings and its own routes."""

from __future__ import annotations

from pydantic import BaseModel

from newel.server import kinds
from newel.server.kinds import Route
from newel.server.settings import Settings
from newel.server.table import ROUTES
from newel_kernel import Descriptor, Kind, hookimpl


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The routes, and who calls."""
    return [
        Kind(kinds.Route, kinds.register_routes),
        Kind(kinds.UserOf, kinds.register_user_ofs),
    ]


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_routes() -> list[Route]:
    """The routes of google-adk, and newel's own."""
    return ROUTES
