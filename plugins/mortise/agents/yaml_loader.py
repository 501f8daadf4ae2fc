"""The loader of agent files: a tree of agents from YAML files in one folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mortise.agents.allow_list import AppCode
from mortise.agents.yaml_fields import READERS, SPELLINGS, unknown_key
from mortise.agents.yaml_positions import MAX_DEPTH, Document, Steps, one_line, read_document
from mortise_kernel.composing import compose_once
from mortise_kernel.composition import Composition
from mortise_kernel.contracts.agent import BaseAgent
from mortise_kernel.errors import AgentConfigError, ConfigurationError, PluginError

DEFAULT_CLASS = "LlmAgent"
_SUFFIXES = (".yaml", ".yml")


class AgentLoader:
    """Reads an app's agent files. The app is the folder of the first one; nothing outside it is read."""

    def __init__(self, folder: Path, composition: Composition) -> None:
        self.folder = folder.resolve()
        self.composition = composition
        self.code = AppCode(folder)
        #: Agent name -> ``file:line``, so that two of one name are found where they are written.
        self.names: dict[str, str] = {}

    def load(self, file: Path, above: tuple[Path, ...] = ()) -> BaseAgent:
        """The agent of `file`; `above` are the files that led to it."""
        return AgentFile(self, read_document(file), (*above, file.resolve())).build()


class AgentFile:
    """One file while it is read; readers of fields use it to resolve names and to report faults."""

    def __init__(self, loader: AgentLoader, document: Document, above: tuple[Path, ...]) -> None:
        self.document = document
        self.composition = loader.composition
        self.code = loader.code
        self._loader = loader
        self._above = above

    def error(self, steps: Steps, message: str) -> AgentConfigError:
        """An error at a place of this file."""
        return self.document.error(steps, message)

    def invalid(self, error: ValidationError, steps: Steps, known: Iterable[str]) -> AgentConfigError:
        """A validation's problems as one error; the first one's line leads, the others name theirs."""
        found: list[tuple[int, str]] = []
        for problem in error.errors(include_url=False, include_context=False, include_input=False):
            place = (*steps, *(step for step in problem["loc"] if isinstance(step, (str, int))))
            where = ".".join(str(step) for step in place)
            if problem["type"] == "extra_forbidden":
                message = unknown_key(str(place[-1]), ".".join(map(str, place[:-1])) or "an agent file", set(known))
            elif problem["type"] == "missing":
                message = f"{where} is missing; add a line `{place[-1]}: ...`"
            else:
                text = problem["msg"].removeprefix("Value error, ")
                message = f"{where}: {text}" if where else text
            found.append((self.document.line(place), one_line(message)))
        found.sort(key=lambda entry: entry[0])
        (line, first), *rest = found
        more = "".join(f"; line {other}: {message}" for other, message in dict.fromkeys(rest))
        return AgentConfigError(f"{self.document.file}:{line}: {first}{more}")

    def build(self) -> BaseAgent:
        """The agent that the file describes."""
        kind = self._kind()
        values = self._values(kind)
        if isinstance(values.get("name"), str):
            self._claim(values["name"], ("name",))
        for field, (steps, value) in self._places(kind).items():
            if field in READERS:
                values[field] = READERS[field](self, steps, value)
        try:
            return kind(**values)
        except ValidationError as error:
            raise self.invalid(error, (), kind.model_fields) from error
        except (ConfigurationError, PluginError) as error:
            raise self.error((), str(error)) from error

    def load(self, steps: Steps, config_path: str) -> BaseAgent:
        """The agent of another file of the app, relative to this one."""
        written = Path(config_path)
        if written.is_absolute() or ".." in written.parts or "\\" in config_path:
            raise self.error(steps, f"config_path {config_path!r} leaves the app's folder; use a path inside it")
        file = self.document.file.parent / written
        real = file.resolve()
        if not real.is_relative_to(self._loader.folder):
            raise self.error(steps, f"config_path {config_path!r} is a link out of the app's folder; copy the file into it")
        if file.suffix not in _SUFFIXES or not file.is_file():
            raise self.error(steps, f"config_path {config_path!r}: there is no such YAML file beside {self.document.file.name}")
        if real in self._above:
            circle = " -> ".join(path.name for path in (*self._above[self._above.index(real) :], real))
            raise self.error(steps, f"agent files refer to each other in a circle ({circle}); remove one reference")
        if len(self._above) >= MAX_DEPTH:
            raise self.error(steps, f"agent files refer to each other deeper than {MAX_DEPTH} levels; flatten the tree")
        return self._loader.load(file, self._above)

    def claim_tree(self, agent: BaseAgent, steps: Steps) -> None:
        """Note the names of an agent that comes from code, and of those below it."""
        self._claim(agent.name, steps)
        for child in agent.sub_agents:
            self.claim_tree(child, steps)

    def _claim(self, name: str, steps: Steps) -> None:
        here = f"{self.document.file}:{self.document.line(steps)}"
        other = self._loader.names.setdefault(name, here)
        if other != here or len(self._above) > 1 and here in self._visited():
            raise self.error(steps, f"two agents of the app are named {name!r} (the other one: {other}); rename one")

    def _visited(self) -> set[str]:
        return set(self._loader.names.values()) - {""}

    def _kind(self) -> type[BaseAgent]:
        name = self.document.data.get("agent_class", DEFAULT_CLASS)
        steps: Steps = ("agent_class",)
        if not isinstance(name, str):
            raise self.error(steps, f"agent_class: a name is wanted, not {type(name).__name__}")
        try:
            known = self.composition.registry.get("AgentType", {})
            kind = self.code.find(name) if "." in name and name not in known else self._registered(name)
        except ConfigurationError as error:
            raise self.error(steps, str(error)) from error
        if not (isinstance(kind, type) and issubclass(kind, BaseAgent)):
            raise self.error(steps, f"agent_class {name!r} is no agent class; name a subclass of BaseAgent")
        return kind

    def _registered(self, name: str) -> Any:
        return self.composition.find("AgentType", name).load()
