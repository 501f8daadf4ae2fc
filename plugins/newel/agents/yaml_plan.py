"""The plan of one agent: what a mapping of an agent file says, checked, and how to make the agent of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from newel.agents.yaml_fields import READERS, SPELLINGS, reader_of
from newel.agents.yaml_positions import problems, unknown_key
from newel.agents.yaml_reading import Make, Ready, located, parsed, shown
from newel.agents.yaml_syntax import Steps
from newel_kernel import BaseAgent
from newel_kernel import AgentConfigError, ConfigurationError, PluginError

if TYPE_CHECKING:
    from newel.agents.yaml_loader import AgentFile

DEFAULT_CLASS = "LlmAgent"
#: Keys that belong to another one, whose reader takes them.
COMPANIONS = {"nodes": "edges"}


class AgentPlan:
    """An agent while it is read: `start` checks what can be checked without importing the app's code."""

    def __init__(self, file: AgentFile, steps: Steps, data: Mapping[str, Any]) -> None:
        self._file = file
        self._steps = steps
        self._data = data
        self._kind: Any = None
        self._makes: dict[str, Make] = {}
        self._config: BaseModel | None = None

    def start(self) -> Make:
        """How to make the agent; an agent class of the app is looked at once every file has been read."""
        name = self._class_name()
        if self.name is not None:
            self._file.claim(self.name, (*self._steps, "name"))
        if "." in name and name not in self._file.composition.registry.get("AgentType", {}):
            find = self._located(name)
            for field, (steps, value) in self._known_places().items():
                self._makes[field] = READERS[field](self._file, steps, value)
            self._file.later(lambda: self._with_class(name, find()))
        else:
            try:
                kind = self._file.composition.find("AgentType", name).load()
            except ConfigurationError as error:
                raise self._file.error((*self._steps, "agent_class"), str(error)) from error
            self._check(kind)
        return self

    @property
    def name(self) -> str | None:
        """The agent's name, where it has one."""
        name = self._data.get("name")
        return name if isinstance(name, str) else None

    def _located(self, name: str) -> Make:
        """The app's class of that name; an installed type is not named by its module."""
        try:
            return located(self._file, (*self._steps, "agent_class"), name)
        except AgentConfigError as error:
            short = name.rpartition(".")[2]
            if short not in self._file.composition.registry.get("AgentType", {}):
                raise
            message = f"{error}; the installed {short!r} is written without a module"
        raise AgentConfigError(message)

    def _class_name(self) -> str:
        name = self._data.get("agent_class", DEFAULT_CLASS)
        if not isinstance(name, str):
            raise self._file.error(
                (*self._steps, "agent_class"), f"agent_class: a name is wanted, not {shown(name)}"
            )
        return name

    def _known_places(self) -> dict[str, tuple[Steps, Any]]:
        """The fields that any agent may have and that only a reader understands."""
        keys = [(SPELLINGS.get(key, key), key) for key in self._data]
        return {field: ((*self._steps, key), self._data[key]) for field, key in keys if field in READERS}

    def _with_class(self, name: str, kind: Any) -> None:
        if not (isinstance(kind, type) and issubclass(kind, (BaseAgent, *self._node_types()))):
            raise self._file.error(
                (*self._steps, "agent_class"), f"agent_class {name!r} is no agent class; name a subclass of BaseAgent"
            )
        config_type = getattr(kind, "config_type", None)
        if isinstance(config_type, type) and issubclass(config_type, BaseModel):
            self._config = parsed(self._file, self._steps, dict(self._data), config_type)
        self._check(kind)

    def _node_types(self) -> tuple[type, ...]:
        """The classes of installed types that are no agents in the narrow sense (a graph, say), and their bases."""
        known = self._file.composition.registry.get("AgentType", {}).values()
        kinds = [kind for owned in known if not issubclass(kind := owned.item.load(), BaseAgent)]
        return tuple({base for kind in kinds for base in kind.__mro__ if issubclass(base, BaseModel)} - {BaseModel})

    def _check(self, kind: Any) -> None:
        """Check every key, then the data, then what the readers understand."""
        self._kind = kind
        places = self._places(kind)
        plain: dict[str, Any] = {}
        late: list[tuple[str, Any, Steps, Any]] = []
        for field, (steps, value) in places.items():
            reader = reader_of(kind, field)
            if reader is None:
                plain[field] = value
            elif field not in self._makes:
                late.append((field, reader, steps, value))
        self._check_data(kind, places, plain)
        for field, reader, steps, value in late:
            self._makes[field] = reader(self._file, steps, value)
        self._makes |= {field: Ready(value) for field, value in plain.items()}
        made = {field: make.value for field, make in self._makes.items() if isinstance(make, Ready)}
        self._check_data(kind, places, made)

    def _places(self, kind: type[BaseModel]) -> dict[str, tuple[Steps, Any]]:
        """Field -> its place in the file and its value there."""
        fields = {name: info for name, info in kind.model_fields.items() if info.init is not False}
        allowed = {"agent_class", *fields, *(key for key, field in COMPANIONS.items() if field in fields)}
        places: dict[str, tuple[Steps, Any]] = {}
        for key, value in self._data.items():
            field = SPELLINGS.get(key, key) if key not in fields else key
            steps = (*self._steps, str(key))
            if field in fields:
                if field in places:
                    raise self._file.error(
                        steps, f"{key!r} means the same as {places[field][0][-1]!r}; keep one of them"
                    )
                places[field] = (steps, value)
            elif key in COMPANIONS and key in allowed and COMPANIONS[key] not in self._data:
                raise self._file.error(steps, f"{key!r} goes with {COMPANIONS[key]!r}, which is missing; add it")
            elif field not in allowed and not self._is_of_config(key):
                raise self._file.error(steps, unknown_key(str(key), kind.__name__, allowed))
        return places

    def _is_of_config(self, key: str) -> bool:
        """Whether the class's `config_type`, which has validated the keys, takes this one."""
        return self._config is not None and key in {*type(self._config).model_fields, *(self._config.model_extra or ())}

    def _check_data(self, kind: type[BaseModel], places: Iterable[str], data: Mapping[str, Any]) -> None:
        """Report what the class's validation says of the data, and the fields that are missing."""
        own = kind.__init__ is not BaseModel.__init__  # it may fill in what is missing
        if own and _takes(kind) != ["fields"]:
            return  # it may take something else than its fields
        try:
            _rehearsal(kind).model_validate(dict(data))
        except ValidationError as error:
            given = set(places) - set(data)
            missing = {one["loc"] for one in error.errors() if one["type"] == "missing"} if own else set()
            found = [
                (steps, message)
                for steps, message in problems(error, self._steps, kind.model_fields)
                if len(steps) > len(self._steps) and steps[len(self._steps)] not in given
                and steps[len(self._steps) :] not in missing
            ]
        except Exception:  # noqa: BLE001 - a validator that wants the whole object says so again when it is made
            return
        else:
            return
        if found:
            raise self._file.document.errors(found)

    def __call__(self) -> Any:
        """Make the agent."""
        values = {field: make() for field, make in self._makes.items()}
        own = getattr(self._kind, "_parse_config", None)
        try:
            if self._config is not None and own is not None:
                values = own(self._config, str(self._file.document.file.absolute()), values)
            return self._kind(**values)
        except ValidationError as error:
            found = list(problems(error, self._steps, self._kind.model_fields))
            raise self._file.document.errors(found) from error
        except (ConfigurationError, PluginError, ValueError, TypeError) as error:
            raise self._file.error(self._steps, str(error)) from error


def _takes(kind: type[BaseModel]) -> list[str]:
    """The parameters of a class's own ``__init__``; "fields" stands for any keywords."""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return ["fields" if one.kind is one.VAR_KEYWORD else one.name for one in parameters]


@cache
def _rehearsal(kind: type[BaseModel]) -> type[BaseModel]:
    """`kind` for validating data only: what it does once it has been made does not happen."""
    members: dict[str, Any] = {"model_post_init": lambda self, context, /: None, "__module__": kind.__module__}
    members["__init__"] = BaseModel.__init__
    return type(kind.__name__, (kind,), members)
