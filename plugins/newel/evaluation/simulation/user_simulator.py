"""UserSimulator: who plays the user of a case, and how further simulators are registered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel

from newel.evaluation.cases.base_model import EvalBaseModel
from newel_kernel import Event
from newel_types import Content

if TYPE_CHECKING:
    from newel.evaluation.metrics.evaluator import Evaluator

#: The type of a config that names none.
DEFAULT_TYPE = "llm_backed"


class BaseUserSimulatorConfig(BaseModel):
    """The base of simulators' configs; keys of a more specific one are kept."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow", protected_namespaces=())

    type: str | None = None


class Status(Enum):
    """The outcome of a request for a message."""

    SUCCESS = "success"
    TURN_LIMIT_REACHED = "turn_limit_reached"
    STOP_SIGNAL_DETECTED = "stop_signal_detected"
    NO_MESSAGE_GENERATED = "no_message_generated"


class NextUserMessage(EvalBaseModel):
    """The user's next message, or why there is none."""

    status: Status
    user_message: Content | None = None

    @model_validator(mode="after")
    def _message_if_success(self) -> Self:
        if (self.user_message is not None) != (self.status == Status.SUCCESS):
            raise ValueError("a user_message goes with the status SUCCESS, and only with it")
        return self


class UserSimulator(ABC):
    """Plays the user: gives the next message."""

    config_type: ClassVar[type[BaseUserSimulatorConfig]] = BaseUserSimulatorConfig

    def __init__(self, config: BaseUserSimulatorConfig) -> None:
        self._config = self.config_type.model_validate(config.model_dump(exclude_unset=True))

    @abstractmethod
    async def get_next_user_message(self, events: list[Event]) -> NextUserMessage:
        """The next message after `events`, a copy of all events so far, including the user's own."""

    def get_simulation_evaluator(self) -> Evaluator | None:
        """The evaluator that judges this simulator, if any."""
        return None


SimulatorFactory = Callable[..., UserSimulator]
_registered: dict[type[BaseUserSimulatorConfig], SimulatorFactory] = {}
_types: dict[str, type[BaseUserSimulatorConfig]] = {}


def register_user_simulator(config_type: type[BaseUserSimulatorConfig], simulator: SimulatorFactory) -> None:
    """Let `simulator(config=, conversation_scenario=)` serve configs of that type.

    Its name in files is the default of the config's field `type`. Plugins use the hook `register_user_simulators`.
    """
    _registered[config_type] = simulator
    name = config_type.model_fields["type"].default
    if isinstance(name, str):
        _types[name] = config_type


def registered_simulator(config: BaseUserSimulatorConfig) -> SimulatorFactory | None:
    """The simulator that was registered for configs of this type."""
    return next((_registered[cls] for cls in type(config).__mro__ if cls in _registered), None)


def simulator_config(data: dict[str, Any]) -> BaseUserSimulatorConfig:
    """The config of a file's mapping, by its `type`; without one it is a model-backed simulator's."""
    name = data.get("type") or DEFAULT_TYPE
    if name in _types:
        return _types[name].model_validate(data)
    # Perhaps a plugin's: the code that makes the simulator looks it up, and names the known types.
    return BaseUserSimulatorConfig.model_validate(data)
