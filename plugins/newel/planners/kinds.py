"""The kind `Planner`."""

from __future__ import annotations

from newel_compose import Factory


class Planner(Factory):
    """`create` gives a BasePlanner."""
