"""The plugins of an evaluation: those of the distribution, and those that only evaluations need.

Installed plugins that only add metrics, reports or prices have a separate entry point group, so that a run of an agent
does not import them. A plugin of the group ``newel.plugins`` may add them, too.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

import newel_compose
from newel.evaluation.kinds import Metric
from newel_kernel import CompositionError

if TYPE_CHECKING:
    from newel_compose import Composition, PluginRegistry

GROUP = "newel.evaluation"


def evaluation_composition(distribution: str | None = None) -> Composition:
    """The composition that evaluations ask for metrics; made once per distribution and process."""
    return composed(distribution, os.environ.get("NEWEL_DISTRIBUTION"))


@cache
def composed(distribution: str | None, chosen: str | None) -> Composition:
    """The composition of a distribution, or of the one that the environment has `chosen`, or that of the folder."""
    return newel_compose.compose(distribution, groups=(GROUP,))


def brought_by(name: str) -> str:
    """The installed plugin that provides a metric which this folder's distribution leaves out; empty: none does."""
    try:
        owned = evaluation_composition("standard").registry.owned(Metric)
    except CompositionError:  # what is wrong with it does not answer this question
        return ""
    if name not in owned:
        return ""
    metric = owned[name]
    distribution = evaluation_composition().distribution
    disabled = metric.plugin in distribution.disable
    return (
        f"; {metric.source} brings it with its plugin {metric.plugin!r}, which the distribution {distribution.name!r} "
        + ("disables: take it out of `disable`" if disabled else "leaves out: name it under `plugins`")
    )


def plugin_registry() -> PluginRegistry:
    """What the plugins of this folder's distribution provide."""
    return evaluation_composition().registry


def to_the_letter() -> bool:
    """Whether what models write is read as the specification reads it: in the distribution `adk`.

    There a label has one spelling, and a text with the stop signal is dropped whole.
    """
    return evaluation_composition().distribution.name == "adk"
