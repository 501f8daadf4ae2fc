"""The kind `SessionBackend`."""

from __future__ import annotations

from typing import ClassVar

from newel_compose import Backend
from newel_kernel import BaseSessionService


class SessionBackend(Backend[BaseSessionService]):
    """Opens a session store from a URI of the scheme `name`."""

    service: ClassVar[str] = "session"
