"""The loader of agent files: a tree of agents from YAML files in one folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from newel.agents.allow_list import AppCode
from newel.agents.yaml_agents import SUFFIXES
from newel.agents.yaml_environment import masked, tells
from newel.agents.yaml_plan import AgentPlan
from newel.agents.yaml_positions import Document, read_document
from newel.agents.yaml_reading import Make
from newel.agents.yaml_syntax import MAX_DEPTH, AgentFileMissingError, Steps
from newel_compose import compose_once
from newel_compose import Composition
from newel_kernel import BaseAgent
from newel_kernel import AgentConfigError

#: Bounds of one app: its files, and the values in all of them.
MAX_FILES = 256
MAX_VALUES = 50_000


class AgentLoader:
    """Reads an app's agent files. The app is the folder of the first one; nothing outside it is read.

    First every file is read and checked, then the app's own agent classes are imported and what is said of them
    is checked, and only then is anything called or made.
    """

    def __init__(self, folder: Path, composition: Composition) -> None:
        self.folder = folder.resolve()
        self.composition = composition
        self.code = AppCode(folder)
        #: What waits until every file has been read.
        self.later: list[Callable[[], None]] = []
        self._variables: dict[str, str] = {}
        self._files = 0
        self._values = 0

    def load(self, file: Path) -> Any:
        """The agent of `file`. No error shows the value of an environment variable that stands in a file."""
        return self.make(lambda: self.file(self.read(file)).plan())

    def make(self, plan: Callable[[], Make]) -> Any:
        """Plan, let what waits have its turn, and make."""
        try:
            make = plan()
            while self.later:
                self.later.pop(0)()
            return make()
        except AgentConfigError as error:
            told: AgentConfigError = error
        if not tells(told, self._variables):
            raise told
        place, colon, message = str(told).partition(": ")
        raise type(told)(f"{place}{colon}{masked(message, self._variables)}")  # without the errors behind it

    def read(self, path: Path, noun: str = "an agent file") -> Document:
        """The document of a file, which counts for the bounds of the app."""
        document = read_document(path, noun)
        self._variables |= document.variables
        self._files += 1
        self._values += len(document.lines)
        if self._files > MAX_FILES:
            raise document.error((), f"the app has more than {MAX_FILES} agent files; make it smaller")
        if self._values > MAX_VALUES:
            raise document.error((), f"the app's files hold more than {MAX_VALUES:,} values; make it smaller")
        return document

    def file(self, document: Document) -> AgentFile:
        """The first file of a tree."""
        return AgentFile(self, document, (document.file.resolve(),), {})


class AgentFile:
    """One file while it is read; readers of fields use it to resolve names and to report faults."""

    def __init__(
        self, loader: AgentLoader, document: Document, above: tuple[Path, ...], names: dict[str, str]
    ) -> None:
        self.document = document
        self.composition = loader.composition
        self.code = loader.code
        #: Takes what must wait until every file has been read.
        self.later = loader.later.append
        self._loader = loader
        #: The files that led to this one, itself included.
        self._above = above
        #: Agent name -> ``file:line``, so that two of one name in a tree are found where they are written.
        self._names = names

    def apart(self) -> AgentFile:
        """This file for agents that are no part of its tree: a tool's agent may be the tool of several."""
        return AgentFile(self._loader, self.document, self._above, {})

    def error(self, steps: Steps, message: str) -> AgentConfigError:
        """An error at a place of this file."""
        return self.document.error(steps, message)

    def plan(self) -> Make:
        """How to make the agent that the file describes."""
        return AgentPlan(self, (), self.document.data).start()

    def inline(self, steps: Steps, data: Mapping[str, Any]) -> Make:
        """How to make an agent that stands within the file."""
        return AgentPlan(self, steps, data).start()

    def beside(self, steps: Steps, key: str) -> Any:
        """The value of another key of the mapping in which the key at `steps` stands."""
        value: Any = self.document.data
        for step in steps[:-1]:
            value = value[step]
        return value.get(key)

    def load(self, steps: Steps, config_path: str) -> Make:
        """The agent of another file of the app, relative to this one."""
        written = Path(config_path)
        key = steps[-1] if isinstance(steps[-1], str) else "config_path"
        if written.is_absolute() or ".." in written.parts or "\\" in config_path or "\0" in config_path:
            raise self.error(steps, f"{key} {config_path!r} leaves the app's folder; use a path inside it")
        file = self.document.file.parent / written
        real = file.resolve()
        if not real.is_relative_to(self._loader.folder):
            raise self.error(steps, f"{key} {config_path!r} is a link out of the app's folder; copy it there")
        if file.suffix not in SUFFIXES or not file.is_file():
            where = f"beside {self.document.file.name}"
            missing = self.error(steps, f"{key} {config_path!r}: there is no such YAML file {where}; create it")
            raise AgentFileMissingError(str(missing))
        if real in self._above:
            circle = " -> ".join(path.name for path in (*self._above[self._above.index(real) :], real))
            raise self.error(steps, f"agent files refer to each other in a circle ({circle}); remove one reference")
        if len(self._above) >= MAX_DEPTH:
            raise self.error(steps, f"agent files refer to each other deeper than {MAX_DEPTH} levels; flatten the tree")
        return AgentFile(self._loader, self._loader.read(file), (*self._above, real), self._names).plan()

    def adopt(self, agent: BaseAgent, steps: Steps) -> BaseAgent:
        """An agent of the app's code for this tree, its names noted."""
        # A module outlives one reading of the file, and its agent can be adopted once.
        agent = agent.clone() if agent.parent_agent is not None else agent
        self._claim_tree(agent, steps)
        return agent

    def _claim_tree(self, agent: BaseAgent, steps: Steps) -> None:
        self.claim(agent.name, steps)
        for child in agent.sub_agents:
            self._claim_tree(child, steps)

    def claim(self, name: str, steps: Steps) -> None:
        """Note the name of an agent; a second one of that name is refused."""
        other = self._names.get(name)
        if other is not None:
            raise self.error(steps, f"two agents of the app are named {name!r} (the other one: {other}); rename one")
        self._names[name] = f"{self.document.file}:{self.document.line(steps)}"


def load_agent(path: str | Path, composition: Composition | None = None) -> Any:
    """The root agent of the file `path`, with everything below it. A fault is an AgentConfigError.

    Names of agent classes and tools are those of `composition`, by default the process's distribution.
    """
    file = checked_suffix(Path(path))
    return AgentLoader(file.parent, composition or compose_once()).load(file)


def checked_suffix(file: Path, noun: str = "an agent file") -> Path:
    """`file`, if its name is that of a YAML file."""
    if file.suffix not in SUFFIXES:
        raise AgentConfigError(f"{file}:1: {noun} ends in .yaml or .yml; rename it")
    return file
