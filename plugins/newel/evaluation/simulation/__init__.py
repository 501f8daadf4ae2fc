"""Simulated users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.evaluation.simulation.llm_backed_user_simulator import LlmBackedUserSimulator as LlmBackedUserSimulator
    from newel.evaluation.simulation.pre_built_personas import (
        get_default_persona_registry as get_default_persona_registry,
    )
    from newel.evaluation.simulation.static_user_simulator import StaticUserSimulator as StaticUserSimulator

_HERE = "newel.evaluation.simulation"
_WHERE = {
    "LlmBackedUserSimulator": f"{_HERE}.llm_backed_user_simulator",
    "get_default_persona_registry": f"{_HERE}.pre_built_personas",
    "StaticUserSimulator": f"{_HERE}.static_user_simulator",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
