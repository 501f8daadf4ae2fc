"""The installed version of newel."""

from __future__ import annotations

from importlib.metadata import version

VERSION = version("newel")
