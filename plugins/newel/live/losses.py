"""Losses: what an error of a live session means for it."""

from __future__ import annotations

import sys

from newel.models.live import ConnectionLostError
from newel_kernel import ConfigurationError


class InvalidContentError(ConfigurationError):
    """A user content that ends the run; any other ValueError only refuses what was sent."""


def is_loss(error: BaseException) -> bool:
    """Whether `error` says that a connection was lost: Python's own error, or that of the library websockets."""
    return isinstance(error, (ConnectionError, *_foreign("ConnectionClosed")))


def closed_normally(error: BaseException) -> bool:
    """Whether the service has closed the connection as it should."""
    if isinstance(error, ConnectionLostError):
        return error.code == 1000
    return isinstance(error, _foreign("ConnectionClosedOK"))


def _foreign(name: str) -> tuple[type[Exception], ...]:
    """An error of websockets, if that library has been imported."""
    kind = getattr(sys.modules.get("websockets.exceptions"), name, None)
    return (kind,) if kind is not None else ()
