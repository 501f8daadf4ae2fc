"""Agents in files: the plan of one agent, with its class and its fields."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeGuard, cast

from pydantic import BaseModel

from newel.agents.kinds import AgentType
from newel.files.compilation import Compilation, Place, check_suffix, kind_of
from newel.files.fields import FIELDS, SPELLINGS
from newel.files.names import importer
from newel.files.plans import Form, ModelPlan
from newel_compose import Composition, compose_once
from newel_kernel import BaseAgent, ConfigurationError

DEFAULT_CLASS = "LlmAgent"
FORM = Form(FIELDS, SPELLINGS, companions={"nodes": "edges"}, further=("agent_class",))


class AgentPlan(ModelPlan):
    """An agent while it is read: what can be checked without importing the app's code is checked at once."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, FORM)
        class_name = self.data.get("agent_class", DEFAULT_CLASS)
        if not isinstance(class_name, str):
            raise place.error(f"agent_class: expected a name, not {kind_of(class_name)}", "agent_class")
        if self.name is not None:
            place.claim(self.name, "name")
        if "." in class_name and class_name not in place.app.installed(AgentType):
            find = importer(place, class_name, "agent_class", kind=AgentType)
            self.read_ahead()
            place.app.later.append(lambda: self._check_own(class_name, find()))
            return
        try:
            kind = place.app.composition.registry.find(AgentType, class_name).load()
        except ConfigurationError as error:
            raise place.error(str(error), "agent_class") from error
        self.check(kind)

    @property
    def name(self) -> str | None:
        """The agent's name, if it has one."""
        name = self.data.get("name")
        return name if isinstance(name, str) else None

    def _check_own(self, class_name: str, kind: object) -> None:
        """Check against a class of the app; this waits until every file has been read."""
        if not self._is_agent_class(kind):
            message = f"agent_class {class_name!r} is not an agent class; name a subclass of BaseAgent"
            raise self.place.error(message, "agent_class")
        config_type = getattr(kind, "config_type", None)
        if isinstance(config_type, type) and issubclass(config_type, BaseModel):
            self.config = replace(self.place, value=dict(self.data)).parsed(config_type)
        self.check(kind)

    def _is_agent_class(self, kind: object) -> TypeGuard[type[BaseModel]]:
        """Whether `kind` is a class of agents, or has a base of installed types that are not agents (graphs)."""
        installed = [owned.item.load() for owned in self.place.app.installed(AgentType).values()]
        wider = {base for one in installed if not issubclass(one, BaseAgent) for base in one.__mro__}
        bases = {base for base in wider if issubclass(base, BaseModel)} - {BaseModel}
        return isinstance(kind, type) and issubclass(kind, (BaseAgent, *bases))


def load_agent(config_path: str | Path, *, composition: Composition | None = None) -> BaseAgent:
    """The agent that the YAML file describes, with its sub-agents and tools.

    Code is named as ``module.function`` of the file's own folder; tools and agent classes also by the names that
    installed plugins give them (those of `composition`, by default the process's distribution). A fault is an
    AgentConfigError whose message starts with ``file:line``.
    """
    file = check_suffix(Path(config_path))
    compilation = Compilation(file.parent, composition or compose_once(), AgentPlan)
    return cast(BaseAgent, compilation.result(file, AgentPlan))


def check_agent(config_path: str | Path, composition: Composition) -> None:
    """Check an agent file and those that it names; no code of the app is imported, and nothing is made."""
    file = check_suffix(Path(config_path))
    Compilation(file.parent, composition, AgentPlan).check(file, AgentPlan)
