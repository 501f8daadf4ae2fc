"""The plugin of the simulated users other than the one that writes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from newel.evaluation.kinds import SimulatedUser
from newel_kernel import hookimpl


@hookimpl
def register_user_simulators() -> list[SimulatedUser]:
    """A user who speaks."""
    return [SimulatedUser(name="llm_audio", load=_load, description="Speaks what another simulated user writes.")]


def _load() -> Any:
    return import_module("newel.evaluation.simulation.llm_audio_user_simulator").LlmAudioUserSimulator
