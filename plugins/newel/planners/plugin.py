"""The plugin of the planners that agent files can name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from newel.planners import kinds
from newel.planners.kinds import Planner
from newel_kernel import Descriptor, Kind, hookimpl
from newel_types import deferred

_PLANNERS = {
    "BuiltInPlanner": deferred("newel.planners.built_in_planner", "BuiltInPlanner"),
    "PlanReActPlanner": deferred("newel.planners.plan_re_act_planner", "PlanReActPlanner"),
}


def _create(load: Callable[[], Callable[..., object]], /, **settings: object) -> object:
    return load()(**settings)


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The planners."""
    return [Kind(kinds.Planner, kinds.register_planners)]


@hookimpl
def register_planners() -> list[Planner]:
    """The planners, by the names of their classes."""
    return [Planner(name=name, create=partial(_create, load)) for name, load in _PLANNERS.items()]
