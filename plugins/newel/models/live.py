"""What a request carries for a live connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import newel_types
from newel_kernel import Key

if TYPE_CHECKING:
    from newel_types import LiveConnectConfig


def _new_config() -> LiveConnectConfig:
    return newel_types.LiveConnectConfig()  # loads with the first live connection


#: The configuration of the connection.
LIVE_CONFIG: Key[LiveConnectConfig] = Key("live connect config", _new_config)
