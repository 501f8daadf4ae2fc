"""The plugin of the planners that agent files can name."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from newel.planners import kinds
from newel.planners.kinds import Planner
from newel_kernel import Descriptor, Kind, hookimpl

_MODULES = {
    "BuiltInPlanner": "newel.planners.built_in_planner",
    "PlanReActPlanner": "newel.planners.plan_re_act_planner",
}


def _create(name: str, /, **settings: object) -> object:
    return getattr(import_module(_MODULES[name]), name)(**settings)


@hookimpl
def register_kinds() -> list[Kind[Descriptor]]:
    """The planners."""
    return [Kind(kinds.Planner, kinds.register_planners)]


@hookimpl
def register_planners() -> list[Planner]:
    """The planners, by the names of their classes."""
    return [Planner(name=name, create=partial(_create, name)) for name in _MODULES]
