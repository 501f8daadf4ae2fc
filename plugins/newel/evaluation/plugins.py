"""The plugins of an evaluation: those of the distribution, and those that only evaluations need.

Installed plugins that only add metrics, reports or prices stand in a group of entry points of their own, so that a run
of an agent does not import them. A plugin of the group ``newel.plugins`` may add them, too.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import newel_compose

if TYPE_CHECKING:
    from newel_compose import Composition, PluginRegistry

GROUP = "newel.evaluation"


@cache
def evaluation_composition(distribution: str | None = None) -> Composition:
    """The composition that evaluations ask for metrics; made once per distribution and process."""
    return newel_compose.compose(distribution, groups=(GROUP,))


def plugin_registry() -> PluginRegistry:
    """What the plugins of this folder's distribution provide."""
    return evaluation_composition().registry
