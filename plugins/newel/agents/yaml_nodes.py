"""Nodes of a workflow in an agent file: functions, agents, tools and joins, with their options."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from newel.agents.kinds import AgentType
from newel.agents.yaml_agents import SUFFIXES
from newel.agents.yaml_positions import unknown_key
from newel.agents.yaml_reading import Make, called, read_code, shown
from newel.agents.yaml_syntax import Steps
from newel.agents.yaml_tools import read_tool

if TYPE_CHECKING:
    from newel.agents.yaml_loader import AgentFile

START = "START"
DEFAULT = ("DEFAULT", "DEFAULT_ROUTE", "__DEFAULT__")
#: What a node may have beside what it does.
OPTIONS = ("rerun_on_resume", "retry_config", "timeout", "parallel_worker", "max_concurrency")
#: Other spellings of an option.
_ALSO = {"max_parallel_workers": "max_concurrency"}
_FUNCTION = ("function", "func", "func_code")
#: The keys of which each says what a node does.
_SUBJECTS = (*_FUNCTION, "config_path", "code", "tool")


def workflow() -> Any:
    """The workflow package; a file without edges does without it."""
    return import_module("newel.workflow")


@dataclass(eq=False)
class Node:
    """A node of a graph: `subject` makes what it does; it is made once, however often edges name it."""

    name: str | None
    steps: Steps
    subject: Make
    file: AgentFile
    options: dict[str, Any] = field(default_factory=dict)
    #: A join waits for everything before it.
    joins: bool = False
    used: bool = False
    _made: Any = None

    def make(self) -> Any:
        """The node, or the agent that is one as it stands."""
        if self._made is None:
            self._made = called(self.file, self.steps, str(self.name), self._make) if self._is_wrapped() else (
                self.subject()
            )  # fmt: skip
        return self._made

    def _is_wrapped(self) -> bool:
        return bool(self.joins or self.options or self.name is not None)

    def _make(self) -> Any:
        package = workflow()
        options = dict(self.options)
        if isinstance(retry := options.get("retry_config"), Mapping):
            options["retry_config"] = package.RetryConfig(**retry)
        if self.joins:
            return package.JoinNode(name=self.name, **options)
        subject = self.subject()
        known = isinstance(subject, package.BaseNode) or not callable(subject)
        if known and not options:
            return subject
        return package.node(subject, **options, **({} if known else {"name": self.name}))


def read_node(file: AgentFile, steps: Steps, name: str | None, value: Any) -> Node:
    """A node from a name of code, a file, an installed tool, or a mapping; `name` is the key that it stands under."""
    if isinstance(value, str):
        return _named(file, steps, name, value)
    if not isinstance(value, Mapping):
        raise file.error(steps, f"a node is a name, a file or a mapping, not {shown(value)}")
    kind = value.get("agent_class")
    subjects = [key for key in _SUBJECTS if key in value]
    # An agent that stands here may be of a class that has options as fields: another graph, say.
    own = () if subjects or kind == "JoinNode" else _fields_of(file, value)
    names = {key: _ALSO.get(key, key) for key in value if isinstance(key, str)}
    taken = {key: name for key, name in names.items() if name in OPTIONS and key not in own}
    options = {name: value[key] for key, name in taken.items()}
    rest = {key: item for key, item in value.items() if key not in taken}
    if kind == "JoinNode":
        return _join(file, steps, name, rest, options)
    if not subjects:
        data = {"name": name, **rest} if name is not None else rest
        make = file.inline(steps, data)
        return Node(name or _name_of(make), steps, make, file, options)
    if len(subjects) > 1:
        raise file.error((*steps, subjects[1]), f"a node has {subjects[0]!r} or {subjects[1]!r}, not both")
    subject = subjects[0]
    allowed = {"name", subject, *(("agent_class",) if kind == "FunctionNode" else ())}
    for key in rest:
        if key not in allowed:
            raise file.error((*steps, str(key)), unknown_key(str(key), "a node", {*allowed, *OPTIONS}))
    return _of_subject(file, steps, rest.get("name", name), subject, rest[subject], options)


def _fields_of(file: AgentFile, value: Mapping[Any, Any]) -> Container[str]:
    """The fields of an installed agent type that a mapping names."""
    owned = file.composition.registry.owned(AgentType).get(str(value.get("agent_class")))
    return getattr(owned.item.load(), "model_fields", ()) if owned is not None else ()


def _join(
    file: AgentFile, steps: Steps, name: str | None, rest: Mapping[str, Any], options: dict[str, Any]
) -> Node:
    own = rest.get("name", name)
    for key in rest:
        if key not in ("name", "agent_class", "description"):
            raise file.error((*steps, str(key)), unknown_key(str(key), "a JoinNode", {"name", "description", *OPTIONS}))
    if not isinstance(own, str):
        raise file.error(steps, "a JoinNode has a name; add a line `name: ...`")
    described = {"description": rest["description"]} if "description" in rest else {}
    return Node(own, steps, lambda: None, file, {**options, **described}, joins=True)


def _named(file: AgentFile, steps: Steps, name: str | None, value: str) -> Node:
    if value.endswith(SUFFIXES):
        return _of_subject(file, steps, name, "config_path", value, {})
    return _of_subject(file, steps, name, "function" if "." in value else "tool", value, {})


def _of_subject(
    file: AgentFile, steps: Steps, name: Any, subject: str, value: Any, options: dict[str, Any]
) -> Node:
    if name is not None and not isinstance(name, str):
        raise file.error((*steps, "name"), f"name: a text is wanted, not {shown(name)}; put it in quotes")
    place = (*steps, subject) if (*steps, subject) in file.document.lines else steps
    if subject == "config_path":
        if not isinstance(value, str):
            raise file.error(place, f"config_path: a text is wanted, not {shown(value)}")
        make = file.load(place, value)
        return Node(name or _name_of(make), steps, make, file, options)
    if subject == "tool":
        short = value if isinstance(value, str) else value.get("name") if isinstance(value, Mapping) else None
        return Node(name or short, steps, read_tool(file, place, value), file, options)
    make = read_code(file, place, value)
    code = str(value.get("name") if isinstance(value, Mapping) else value)

    def checked() -> Any:
        found = make()
        if isinstance(found, type) or not (callable(found) or isinstance(found, workflow().BaseNode)):
            kind = f"the class {found.__name__}" if isinstance(found, type) else type(found).__name__
            raise file.error(place, f"{code!r} is {kind}, neither a function nor a node; name one of those")
        return found

    return Node(name or code.rpartition(".")[2], steps, checked, file, options)


def _name_of(make: Make) -> str | None:
    """The name of the agent that a plan makes."""
    name = getattr(make, "name", None)
    return name if isinstance(name, str) else None
