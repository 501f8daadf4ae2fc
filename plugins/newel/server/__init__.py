"""The API server: google-adk's paths over HTTP, as an ASGI app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.server.application import app as app
    from newel.server.calls import Call as Call
    from newel.server.calls import endpoint as endpoint
    from newel.server.kinds import BusBackend as BusBackend
    from newel.server.kinds import EventBus as EventBus
    from newel.server.kinds import Route as Route
    from newel.server.kinds import UserOf as UserOf
    from newel.server.options import Options as Options
    from newel.server.refusals import Refusal as Refusal
    from newel.server.security.guards import Guards as Guards

_WHERE = {
    "BusBackend": "newel.server.kinds",
    "Call": "newel.server.calls",
    "EventBus": "newel.server.kinds",
    "Guards": "newel.server.security.guards",
    "Options": "newel.server.options",
    "Refusal": "newel.server.refusals",
    "Route": "newel.server.kinds",
    "UserOf": "newel.server.kinds",
    "app": "newel.server.application",
    "endpoint": "newel.server.calls",
}

__all__ = ["BusBackend", "Call", "EventBus", "Guards", "Options", "Refusal", "Route", "UserOf", "app", "endpoint"]
__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
