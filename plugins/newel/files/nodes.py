"""Nodes of a workflow in a file: functions, agents, tools and joins, with their options."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace

from newel import workflow
from newel.agents.kinds import AgentType
from newel.files.compilation import SUFFIXES, Factory, Place, kind_of
from newel.files.document import unknown_key
from newel.files.names import call, describe, plan_file, read_code
from newel.files.tools import read_tool
from newel_kernel import BaseTool, Json

START = "START"
DEFAULT = ("DEFAULT", "DEFAULT_ROUTE", "__DEFAULT__")
#: The options that a node may have.
OPTIONS = ("rerun_on_resume", "retry_config", "timeout", "parallel_worker", "max_concurrency")
#: Other spellings of an option.
_ALSO = {"max_parallel_workers": "max_concurrency"}
#: The keys that say what a node does; a node has one of them.
_SUBJECTS = ("function", "func", "func_code", "config_path", "code", "tool")


@dataclass(eq=False)
class Node:
    """A node of a graph: `subject` makes what it runs; the node is made once, however often edges name it."""

    name: str | None
    place: Place
    subject: Factory
    options: Json = field(default_factory=dict)
    #: A join waits for everything before it.
    joins: bool = False
    used: bool = False
    _object: object = None

    def make(self) -> object:
        """The node, or the agent that can be a node itself."""
        if self._object is None:
            wrapped = self.joins or self.options or self.name is not None
            self._object = call(self.place, str(self.name), self._make) if wrapped else self.subject()
        return self._object

    def _make(self) -> object:
        options = dict(self.options)
        if isinstance(retry := options.get("retry_config"), Mapping):
            options["retry_config"] = workflow.RetryConfig(**retry)
        if self.joins:
            return workflow.JoinNode(name=str(self.name), **options)
        subject = self.subject()
        if not isinstance(subject, (workflow.BaseNode, BaseTool)) and callable(subject):
            options["name"] = self.name
        make: Callable[..., object] = workflow.node
        return make(subject, **options) if options else subject


def read_node(place: Place, name: str | None) -> Node:
    """A node from a name of code, a file, an installed tool, or a mapping; `name` is the key that it stands under."""
    value = place.value
    if isinstance(value, str):
        subject = "config_path" if value.endswith(SUFFIXES) else "function" if "." in value else "tool"
        return _of_subject(place, name, subject, value, {})
    if not isinstance(value, Mapping):
        raise place.error(f"a node is a name, a file or a mapping, not {kind_of(value)}")
    kind = value.get("agent_class")
    subjects = [key for key in _SUBJECTS if key in value]
    # An agent described here may be of a class that has options as fields: such as another graph.
    own = () if subjects or kind == "JoinNode" else _fields_of(place, value)
    spellings = {key: _ALSO.get(key, key) for key in value if isinstance(key, str)}
    option_keys = {key: option for key, option in spellings.items() if option in OPTIONS and key not in own}
    options = {option: value[key] for key, option in option_keys.items()}
    rest = {key: item for key, item in value.items() if key not in option_keys}
    if kind == "JoinNode":
        return _join(place, name, rest, options)
    if not subjects:
        data = {"name": name, **rest} if name is not None else rest
        plan = place.app.plan_agent(replace(place, value=data))
        return Node(name or plan.name, place, plan, options)
    if len(subjects) > 1:
        raise place.error(f"a node has {subjects[0]!r} or {subjects[1]!r}, not both", subjects[1])
    subject = subjects[0]
    allowed = {"name", subject, *(("agent_class",) if kind == "FunctionNode" else ())}
    _check_keys(place, rest, allowed, "a node", {*allowed, *OPTIONS})
    return _of_subject(place, rest.get("name", name), subject, rest[subject], options)


def _check_keys(place: Place, data: Mapping[str, object], allowed: set[str], owner: str, names: set[str]) -> None:
    for key in data:
        if key not in allowed:
            raise place.error(unknown_key(str(key), owner, names), str(key))


def _fields_of(place: Place, value: Mapping[str, object]) -> Container[str]:
    """The fields of an installed agent type that a mapping names."""
    owned = place.app.installed(AgentType).get(str(value.get("agent_class")))
    return getattr(owned.item.load(), "model_fields", ()) if owned is not None else ()


def _join(place: Place, name: str | None, rest: Mapping[str, object], options: Json) -> Node:
    own = rest.get("name", name)
    allowed = {"name", "agent_class", "description"}
    _check_keys(place, rest, allowed, "a JoinNode", {"name", "description", *OPTIONS})
    if not isinstance(own, str):
        raise place.error("a JoinNode has a name; add a line `name: ...`")
    description = {"description": rest["description"]} if "description" in rest else {}
    return Node(own, place, lambda: None, {**options, **description}, joins=True)


def _of_subject(place: Place, name: object, subject: str, value: object, options: Json) -> Node:
    if name is not None and not isinstance(name, str):
        raise place.error(f"name: expected a string, not {kind_of(name)}; put it in quotes", "name")
    below = place.child(subject, value)
    here = below if below.steps in place.file.document.lines else replace(place, value=value)
    if subject == "config_path":
        if not isinstance(value, str):
            raise here.error(f"config_path: expected a string, not {kind_of(value)}")
        plan = plan_file(here, value)
        return Node(name or plan.name, place, plan, options)
    code = value.get("name") if isinstance(value, Mapping) else value
    if subject == "tool":
        return Node(name or (code if isinstance(code, str) else None), place, read_tool(here), options)
    return Node(name or str(code).rpartition(".")[2], place, _read_function(here, str(code)), options)


def _read_function(place: Place, code: str) -> Factory:
    """A function or a node of the app."""
    make = read_code(place)

    def make_function() -> object:
        value = make()
        if isinstance(value, type) or not (callable(value) or isinstance(value, workflow.BaseNode)):
            raise place.error(f"{code!r} is {describe(value)}, neither a function nor a node; name one of those")
        return value

    return make_function
