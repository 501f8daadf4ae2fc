"""The kind `SessionBackend`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from newel_compose import Backend

if TYPE_CHECKING:
    from newel_kernel import BaseSessionService  # noqa: F401 - the class below names it


class SessionBackend(Backend["BaseSessionService"]):
    """Opens a session store from a URI of the scheme `name`."""

    service: ClassVar[str] = "session"
