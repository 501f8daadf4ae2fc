"""UserSimulatorProvider: which simulator plays the user of a case."""

from __future__ import annotations

from newel.evaluation import simulation
from newel.evaluation.cases.eval_case import EvalCase
from newel.evaluation.kinds import SimulatedUser
from newel.evaluation.plugins import plugin_registry
from newel.evaluation.simulation.user_simulator import (
    DEFAULT_TYPE,
    BaseUserSimulatorConfig,
    SimulatorFactory,
    UserSimulator,
    registered_simulator,
)


class UserSimulatorProvider:
    """A fixed conversation is played as it stands; a scenario by the simulator that the config asks for."""

    def __init__(self, user_simulator_config: BaseUserSimulatorConfig | None = None) -> None:
        if user_simulator_config is not None and not isinstance(user_simulator_config, BaseUserSimulatorConfig):
            raise ValueError(
                f"user_simulator_config is a BaseUserSimulatorConfig, not {type(user_simulator_config).__name__}"
            )
        self._config = user_simulator_config or BaseUserSimulatorConfig()

    def provide(self, eval_case: EvalCase) -> UserSimulator:
        """A new simulator for the case."""
        if eval_case.conversation is None:
            return self._factory()(config=self._config, conversation_scenario=eval_case.conversation_scenario)
        static = simulation.StaticUserSimulator(static_conversation=eval_case.conversation)
        factory = self._factory() if self._config.type not in (None, DEFAULT_TYPE) else None
        if factory is not None and getattr(factory, "speaks_for_others", False):
            return factory(config=self._config, text_simulator=static)
        return static

    def _factory(self) -> SimulatorFactory:
        registered = registered_simulator(self._config)
        if registered is not None:
            return registered
        if self._config.type not in (None, DEFAULT_TYPE):
            factory: SimulatorFactory = plugin_registry().find(SimulatedUser, str(self._config.type)).load()
            return factory
        return simulation.LlmBackedUserSimulator  # loads with the first scenario: most evaluations have none
