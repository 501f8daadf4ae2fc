"""The file of the keys that `newel keys` keeps. Every command looks for it, so this imports next to nothing."""

from __future__ import annotations

import os
from pathlib import Path

#: Names the file, if it is not the usual one.
VARIABLE = "NEWEL_KEYS"


def path() -> Path:
    """The file. It holds the keys; of those in the keyring, only the names."""
    own = os.environ.get(VARIABLE)
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(own) if own else Path(base) / "newel" / "keys.json"
