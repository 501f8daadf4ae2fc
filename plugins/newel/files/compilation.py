"""The compilation of an app's files: the files within their bounds, and the places in them that readers look at.

A reader checks the value at a place and returns a factory. First every file is read and checked, then the app's own
agent classes are imported and checked, and only then is a factory called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from newel.files.allow_list import AppCode
from newel.files.document import Document, problems, read_document
from newel.files.syntax import Steps
from newel.files.variables import mask, reveals
from newel_compose import Composition, Owned
from newel_kernel import AgentConfigError, Descriptor

M = TypeVar("M", bound=BaseModel)

SUFFIXES = (".yaml", ".yml")
#: Bounds of one app: its files, and the values in all of them.
MAX_FILES = 256
MAX_VALUES = 50_000

#: Makes the object that was read. It is called once, when every file has been read.
Factory = Callable[[], object]


class Plan(Protocol):
    """The factory of an agent, with the agent's name if the file has one."""

    @property
    def name(self) -> str | None:
        """The name."""

    def __call__(self) -> object:
        """Make the agent."""


@dataclass(frozen=True, slots=True)
class Constant:
    """The factory of plain data, which needs no making."""

    value: object

    def __call__(self) -> object:
        """The value."""
        return self.value


class Compilation:
    """One app while its files are read. The app is the folder of the first file; nothing outside it is read.

    `plan_agent` plans the agent that a place describes.
    """

    def __init__(self, folder: Path, composition: Composition, plan_agent: Callable[[Place], Plan]) -> None:
        self.folder = folder.resolve()
        self.composition = composition
        self.plan_agent = plan_agent
        self.code = AppCode(folder)
        #: Checks that wait until every file has been read.
        self.later: list[Callable[[], None]] = []
        self._variables: dict[str, str] = {}
        self._files = 0
        self._values = 0

    def result(self, file: Path, plan: Callable[[Place], Factory]) -> object:
        """The object that the first file describes."""

        def made() -> object:
            make = self._planned(file, plan)
            while self.later:
                self.later.pop(0)()
            return make()

        return self._masked(made)

    def check(self, file: Path, plan: Callable[[Place], Factory]) -> None:
        """Check the file and those that it names, as far as that needs no import: keys, values, the names of code."""
        self._masked(lambda: self._planned(file, plan))

    def _planned(self, file: Path, plan: Callable[[Place], Factory]) -> Factory:
        return plan(SourceFile(self, self.read(file), (file.resolve(),), {}).top)

    def _masked(self, read: Callable[[], object]) -> object:
        """What `read` returns. No error shows the value of an environment variable in a file."""
        try:
            return read()
        except AgentConfigError as error:
            fault: AgentConfigError = error
        if not reveals(fault, self._variables):
            raise fault
        place, colon, message = str(fault).partition(": ")
        raise type(fault)(f"{place}{colon}{mask(message, self._variables)}")  # without its causes

    def read(self, path: Path) -> Document:
        """The document of a file, which counts towards the bounds of the app."""
        document = read_document(path)
        self._variables |= document.variables
        self._files += 1
        self._values += len(document.lines)
        if self._files > MAX_FILES:
            raise document.error((), f"the app has more than {MAX_FILES} agent files; make it smaller")
        if self._values > MAX_VALUES:
            raise document.error((), f"the app's files hold more than {MAX_VALUES:,} values; make it smaller")
        return document

    def installed(self, kind: type[Descriptor]) -> Mapping[str, Owned]:
        """The descriptors of a kind that the plugins provide, by name."""
        return self.composition.registry.owned(kind)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the tree."""

    compilation: Compilation
    document: Document
    #: The files that led to this one, itself included.
    above: tuple[Path, ...]
    #: Agent name -> ``file:line``, so that an error can say where two agents of one name are written.
    names: dict[str, str]

    @property
    def top(self) -> Place:
        """The whole file."""
        return Place(self, (), self.document.data)


@dataclass(frozen=True, slots=True)
class Place:
    """A value, and its place in a file."""

    file: SourceFile
    steps: Steps
    value: object
    #: The collection that holds the value.
    parent: Place | None = None

    @property
    def app(self) -> Compilation:
        """The compilation that the file belongs to."""
        return self.file.compilation

    @property
    def key(self) -> str | int:
        """The last key or index on the way here."""
        return self.steps[-1]

    def error(self, message: str, *below: str | int) -> AgentConfigError:
        """An error at this place, or at a place below it."""
        return self.file.document.error((*self.steps, *below), message)

    def child(self, step: str | int, value: object) -> Place:
        """The place of a key or an item."""
        return Place(self.file, (*self.steps, step), value, self)

    def sibling(self, key: str) -> Place | None:
        """Another key of the mapping that holds this one."""
        if self.parent is None or not isinstance(self.parent.value, Mapping):
            return None
        value = self.parent.value.get(key)
        return self.parent.child(key, value) if value is not None else None

    def items(self) -> list[Place]:
        """The places of a list's items."""
        if not isinstance(self.value, list):
            raise self.error(f"{self.key}: expected a list, not {kind_of(self.value)}; start each item with `- `")
        return [self.child(index, item) for index, item in enumerate(self.value)]

    def text(self) -> str:
        """The value, which must be a text."""
        if isinstance(self.value, str):
            return self.value
        raise self.error(f"{self.key}: expected a string, not {kind_of(self.value)}; put it in quotes")

    def parsed(self, model: type[M], value: object = None, *, also: Iterable[str] = ()) -> M:
        """The value (or `value`, a part of it) as an instance of `model`; problems are reported with their lines.

        `also` are keys that may stand here and that the model does not know.
        """
        try:
            return model.model_validate(self.value if value is None else value)
        except ValidationError as error:
            faults = list(problems(error, self.steps, {*model.model_fields, *also}))
        raise self.file.document.errors(faults)

    def apart(self) -> Place:
        """This place, for agents that are not part of its tree: a tool's agent may be the tool of several."""
        return replace(self, file=replace(self.file, names={}))

    def claim(self, name: str, *below: str) -> None:
        """Note the name of an agent; a second one of that name is refused."""
        names, document = self.file.names, self.file.document
        if name in names:
            message = f"two agents of the app are named {name!r} (the other one: {names[name]}); rename one"
            raise self.error(message, *below)
        names[name] = f"{document.file}:{document.line((*self.steps, *below))}"


Reader = Callable[[Place], Factory]


def check_suffix(file: Path, noun: str = "an agent file") -> Path:
    """`file`, if its name is that of a YAML file."""
    if file.suffix not in SUFFIXES:
        raise AgentConfigError(f"{file}:1: {noun} ends in .yaml or .yml; rename it")
    return file


def kind_of(value: object) -> str:
    """The type of a value in a file, for a message."""
    return "nothing" if value is None else type(value).__name__
