"""The plugin of the simulated users other than the one that writes."""

from __future__ import annotations

from newel.evaluation.kinds import SimulatedUser
from newel_kernel import hookimpl
from newel_types import deferred


@hookimpl
def register_user_simulators() -> list[SimulatedUser]:
    """A user who speaks."""
    load = deferred("newel.evaluation.simulation.llm_audio_user_simulator", "LlmAudioUserSimulator")
    return [SimulatedUser(name="llm_audio", load=load, description="Speaks what another simulated user writes.")]
