"""The marks of hooks: `hookimpl` for a plugin's implementations, `hookspec` for the specifications."""

from __future__ import annotations

from collections.abc import Mapping

import pluggy
from pydantic import BaseModel

hookspec = pluggy.HookspecMarker("newel")
hookimpl = pluggy.HookimplMarker("newel")

#: A plugin's name -> its validated settings.
Settings = Mapping[str, BaseModel]
