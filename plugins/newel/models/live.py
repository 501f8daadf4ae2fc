"""The values that a request carries for a live connection, and the error of a lost connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import newel_types
from newel_kernel import Key

if TYPE_CHECKING:
    from newel_types import LiveConnectConfig


def _new_config() -> LiveConnectConfig:
    return newel_types.LiveConnectConfig()  # loads with the first live connection


#: The most bytes in a message of a live connection. The SDKs' own limits are 1 MiB and none.
FRAME_BYTES = 16 * 1024 * 1024
#: The configuration of the connection.
LIVE_CONFIG: Key[LiveConnectConfig] = Key("live connect config", _new_config)
#: The number of the connection within its run, from 1 on: errors name it.
CONNECTION_NUMBER: Key[int] = Key("connection number", lambda: 1)


class ConnectionLostError(ConnectionError):
    """A live connection was lost. Its text names the provider and what to do, and no key."""

    def __init__(self, message: str, code: int = 1006) -> None:
        super().__init__(message)
        #: The close code of the WebSocket; 1006 if no close frame came.
        self.code = code
