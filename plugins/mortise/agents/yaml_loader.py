"""The loader of agent files: a tree of agents from YAML files in one folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
        found = [
            (self.document.line(place), _described(place, steps, problem, known))
            for place, problem in _problems(error, steps)
        ]
        (line, first), *rest = sorted(dict.fromkeys(found), key=lambda entry: entry[0])
        more = "".join(f"; line {other}: {message}" for other, message in rest)
        return AgentConfigError(f"{self.document.file}:{line}: {first}{more}")

    def build(self) -> BaseAgent:
        """The agent that the file describes."""
        kind = self._kind()
        places = self._places(kind)
        if isinstance(self.document.data.get("name"), str):
            self._claim(self.document.data["name"], ("name",))
        values = {
            field: READERS[field](self, steps, value) if field in READERS else value
            for field, (steps, value) in places.items()
        }
        try:
            return kind(**values)
        except ValidationError as error:
            raise self.invalid(error, (), kind.model_fields) from error
        except (ConfigurationError, PluginError) as error:
            raise self.error((), str(error)) from error

    def _places(self, kind: type[BaseAgent]) -> dict[str, tuple[Steps, Any]]:
        """Field -> its place in the file and its value there. Every key is checked before any is read."""
        fields = {name: info for name, info in kind.model_fields.items() if info.init is not False}
        places: dict[str, tuple[Steps, Any]] = {}
        for key, value in self.document.data.items():
            if key == "agent_class":
                continue
            field = SPELLINGS.get(key, key) if key not in fields else key
            if field not in fields:
                raise self.error((str(key),), unknown_key(str(key), kind.__name__, {"agent_class", *fields}))
            if field in places:
                raise self.error((key,), f"{key!r} means the same as {places[field][0][0]!r}; keep one of them")
            if fields[field].annotation is Any and field not in READERS:
                raise self.error((key,), f"{key!r} cannot be set in an agent file; set it in Python")
            places[field] = ((key,), value)
        return places

    def load(self, steps: Steps, config_path: str) -> BaseAgent:
        """The agent of another file of the app, relative to this one."""
        written = Path(config_path)
        if written.is_absolute() or ".." in written.parts or "\\" in config_path:
            raise self.error(steps, f"config_path {config_path!r} leaves the app's folder; use a path inside it")
        file = self.document.file.parent / written
        real = file.resolve()
        if not real.is_relative_to(self._loader.folder):
            raise self.error(steps, f"config_path {config_path!r} is a link out of the app's folder; copy it there")
        if file.suffix not in _SUFFIXES or not file.is_file():
            where = f"beside {self.document.file.name}"
            raise self.error(steps, f"config_path {config_path!r}: there is no such YAML file {where}; create it")
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
        other = self._loader.names.get(name)
        if other is not None:
            raise self.error(steps, f"two agents of the app are named {name!r} (the other one: {other}); rename one")
        self._loader.names[name] = f"{self.document.file}:{self.document.line(steps)}"

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


def load_agent(path: str | Path, composition: Composition | None = None) -> BaseAgent:
    """The root agent of the file `path`, with everything below it. A fault is an AgentConfigError.

    Names of agent classes and tools are those of `composition`, by default the process's distribution.
    """
    file = Path(path)
    if file.suffix not in _SUFFIXES:
        raise AgentConfigError(f"{file}:1: an agent file ends in .yaml or .yml; rename it")
    return AgentLoader(file.parent, composition or compose_once()).load(file)


def _problems(error: ValidationError, steps: Steps) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Every problem with its place; a validation inside a validator is unfolded."""
    for problem in error.errors(include_url=False, include_input=False):
        place = (*steps, *problem["loc"])
        inner = problem.get("ctx", {}).get("error")
        if isinstance(inner, ValidationError):
            yield from _problems(inner, place)
        else:
            yield place, problem


def _described(place: Steps, steps: Steps, problem: Mapping[str, Any], known: Iterable[str]) -> str:
    where = ".".join(str(step) for step in place)
    if problem["type"] == "extra_forbidden":
        names = set(known) if len(place) == len(steps) + 1 else set()
        return unknown_key(str(place[-1]), ".".join(map(str, place[:-1])) or "an agent file", names)
    if problem["type"] == "missing":
        return f"{where} is missing; add a line `{place[-1]}: ...`"
    text = one_line(problem["msg"].removeprefix("Value error, "))
    return f"{where}: {text}" if where else text
