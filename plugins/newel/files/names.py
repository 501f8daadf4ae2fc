"""Names in files: of code, which the allow-list resolves, and of agents, in further files or in code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from newel.agents.base_agent import clone
from newel.files.calls import apply
from newel.files.compilation import SUFFIXES, Factory, Place, Plan, Reader, SourceFile
from newel.files.document import problems
from newel.files.references import AgentRefConfig, CodeConfig
from newel.files.syntax import MAX_DEPTH, AgentFileMissingError
from newel_compose import place_of
from newel_kernel import AgentConfigError, BaseAgent, ConfigurationError, Descriptor, NewelError, subtree

T = TypeVar("T")


def read_code(place: Place) -> Factory:
    """A ``module.attribute`` of the app, with the arguments of its call if it has any."""
    config = place.parsed(CodeConfig)
    find = importer(place, config.name)
    return lambda: evaluate(place, config, find())


def importer(place: Place, name: str, *below: str, kind: type[Descriptor] | None = None) -> Factory:
    """Check that the app's folder has the module of a name; the result imports it.

    `below` leads to the name. If plugins provide something of `kind` by that name, the error says so.
    """
    code, short = place.app.code, name.rpartition(".")[2]
    try:
        code.check(name)
    except ConfigurationError as error:
        installed = place.app.installed(kind) if kind is not None else ()
        hint = f"; the installed {short!r} is written without a module" if short in installed else ""
        raise place.error(f"{error}{hint}", *below) from error

    def find() -> object:
        try:
            return code.find(name)
        except ConfigurationError as error:
            raise place.error(str(error), *below) from error

    return find


def evaluate(place: Place, config: CodeConfig, value: object) -> object:
    """`value`, or the result of its call with the arguments of `config`."""
    if config.args is None:
        return value
    if not callable(value):
        raise place.error(f"{config.name!r} takes no args: it is not callable; remove `args`")
    function = value
    return call(place, config.name, lambda: apply(function, config))


def call(place: Place, name: str, function: Callable[[], T]) -> T:
    """The result of `function` for the file's arguments; whatever it raises becomes an error at `place`."""
    try:
        return function()
    except AgentConfigError:
        raise
    except Exception as error:
        raise place.error(f"{name!r} cannot be made of these args: {reason(error)}", "args") from error


def reason(error: Exception) -> str:
    """The text of an error of the app's code, for a message."""
    if isinstance(error, NewelError):
        return str(error)
    if isinstance(error, ValidationError):  # its text would show the values, cut short
        return "; ".join(message for _, message in problems(error, (), ()))
    return f"{type(error).__name__}: {error}{place_of(error)}"


def instance(place: Place, config: CodeConfig, find: Factory) -> Factory:
    """The object that a name stands for: a class is instantiated, even without arguments."""

    def make() -> object:
        value: Any = find()
        if config.args is None and not isinstance(value, type):
            return value
        return call(place, config.name, lambda: apply(value, config))

    return make


def list_of(read: Reader) -> Reader:
    """The reader of a list whose items `read` reads."""

    def read_list(place: Place) -> Factory:
        makes = [read(item) for item in place.items()]
        return lambda: [make() for make in makes]

    return read_list


def read_agent(place: Place) -> Factory:
    """An agent of another file, or of the app's code."""
    if isinstance(place.value, str) and place.value.endswith(SUFFIXES):
        return plan_file(place, place.value)
    if not isinstance(place.value, Mapping):
        raise place.error("an agent is written `config_path: file.yaml` or `code: module.agent`")
    reference = place.parsed(AgentRefConfig)
    if reference.config_path is not None:
        return plan_file(place.child("config_path", reference.config_path), reference.config_path)
    return read_agent_of_code(place.child("code", reference.code), str(reference.code))


def read_agent_of_code(place: Place, name: str) -> Factory:
    """An agent object of the app's code."""
    find = importer(place, name)

    def make() -> BaseAgent:
        agent = find()
        if not isinstance(agent, BaseAgent):
            raise place.error(f"{name!r} is {describe(agent)}, not an agent; name an agent object")
        # A module outlives one reading of the file, and its agent can be adopted only once.
        agent = clone(agent) if agent.parent_agent is not None else agent
        for one in subtree(agent):
            place.claim(one.name)
        return agent

    return make


def plan_file(place: Place, config_path: str) -> Plan:
    """The plan of another file of the app, relative to this one."""
    file = _file_of_app(place, config_path)
    real, above = file.resolve(), place.file.above
    if real in above:
        circle = " -> ".join(path.name for path in (*above[above.index(real) :], real))
        raise place.error(f"agent files refer to each other in a cycle ({circle}); remove one reference")
    if len(above) >= MAX_DEPTH:
        raise place.error(f"agent files refer to each other deeper than {MAX_DEPTH} levels; flatten the tree")
    other = SourceFile(place.app, place.app.read(file), (*above, real), place.file.names)
    return place.app.plan_agent(other.top)


def _file_of_app(place: Place, config_path: str) -> Path:
    file = find_file(place, config_path)
    if file.suffix not in SUFFIXES or not file.is_file():
        here, key = place.file.document.file, _key(place)
        missing = place.error(f"{key} {config_path!r}: there is no such YAML file next to {here.name}; create it")
        raise AgentFileMissingError(str(missing))
    return file


def find_file(place: Place, name: str) -> Path:
    """The file that a value names, relative to its own; it need not exist. One outside the app's folder is refused."""
    path, key = Path(name), _key(place)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise place.error(f"{key} {name!r} leaves the app's folder; use a path inside it")
    file = place.file.document.file.parent / path
    if not file.resolve().is_relative_to(place.app.folder):
        raise place.error(f"{key} {name!r} is a link out of the app's folder; copy it there")
    return file


def _key(place: Place) -> str:
    return place.key if isinstance(place.key, str) else "config_path"


def describe(value: object) -> str:
    """The description of an object of the app's code, for a message."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
