"""Planners: how a model is told to plan, or its own thinking is configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.planners.built_in_planner import BuiltInPlanner as BuiltInPlanner
    from newel.planners.plan_re_act_planner import PlanReActPlanner as PlanReActPlanner
    from newel.planners.base_planner import BasePlanner as BasePlanner

_WHERE = {
    "BasePlanner": "newel.planners.base_planner",
    "BuiltInPlanner": "newel.planners.built_in_planner",
    "PlanReActPlanner": "newel.planners.plan_re_act_planner",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
