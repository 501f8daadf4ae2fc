"""Documents: the data of a YAML file together with the line of everything in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from newel.events.text import one_line
from newel.files.syntax import Steps, parse, read_text
from newel.files.variables import interpolate
from newel_kernel import AgentConfigError, did_you_mean


@dataclass(frozen=True, slots=True)
class Document:
    """One file: its `data`, and the line (from 1) of every key and item."""

    #: As the user wrote it, for messages.
    file: Path
    data: Mapping[str, object]
    lines: Mapping[Steps, int]
    #: The environment variables that stand in `data`, with their values.
    variables: dict[str, str] = field(default_factory=dict, repr=False)

    def line(self, steps: Steps = ()) -> int:
        """The line of a place, or of its container if the place does not exist."""
        while steps not in self.lines and steps:
            steps = steps[:-1]
        return self.lines.get(steps, 1)

    def error(self, steps: Steps, message: str) -> AgentConfigError:
        """``file:line: message``, on one line."""
        return AgentConfigError(f"{self.file}:{self.line(steps)}: {one_line(message)}")

    def errors(self, faults: Iterable[tuple[Steps, str]]) -> AgentConfigError:
        """Several problems as one error; the first one's line leads, the others name theirs."""
        placed = sorted(dict.fromkeys((self.line(steps), message) for steps, message in faults))
        (line, first), *rest = placed
        more = "".join(f"; line {other}: {message}" for other, message in rest)
        return AgentConfigError(f"{self.file}:{line}: {first}{more}")


def read_document(file: Path) -> Document:
    """The document of a YAML file that holds a mapping; a fault is an AgentConfigError that names file and line."""
    data, lines = parse(read_text(file), file)
    if not isinstance(data, dict):
        fault = "the file is empty or not a mapping; an agent file has lines such as `name: helper`"
        raise AgentConfigError(f"{file}:1: {fault}")
    document = Document(file, data, lines)
    for key in data:
        if not isinstance(key, str):
            raise document.error((str(key),), f"the key {key!r} is not a string; an agent file has keys such as `name`")
    values = interpolate(data, (), document.error, document.variables)
    assert isinstance(values, dict)
    return Document(file, values, lines, document.variables)


def problems(error: ValidationError, steps: Steps, names: Iterable[str]) -> Iterator[tuple[Steps, str]]:
    """Every problem of a validation at `steps`, with its place; `names` are the keys that may stand there."""
    for place, problem in _unfolded(error, steps):
        yield place, _described(place, steps, problem, names)


def _unfolded(error: ValidationError, steps: Steps) -> Iterator[tuple[Steps, ErrorDetails]]:
    """The problems of an error; those of a validation inside a validator are placed in the outer one."""
    for problem in error.errors(include_url=False, include_input=False):
        place = (*steps, *problem["loc"])
        inner = problem.get("ctx", {}).get("error")
        if isinstance(inner, ValidationError):
            yield from _unfolded(inner, place)
        else:
            yield place, problem


def _described(place: Steps, steps: Steps, problem: ErrorDetails, names: Iterable[str]) -> str:
    where = ".".join(str(step) for step in place)
    if problem["type"] == "extra_forbidden":
        siblings = set(names) if len(place) == len(steps) + 1 else set()
        return unknown_key(str(place[-1]), ".".join(map(str, place[:-1])) or "an agent file", siblings)
    if problem["type"] == "missing":
        return f"{where} is missing; add a line `{place[-1]}: ...`"
    text = one_line(problem["msg"].removeprefix("Value error, "))
    return f"{where}: {text}" if where else text


def unknown_key(key: str, owner: str, names: Iterable[str]) -> str:
    """The message for a key that nothing knows."""
    choice = sorted(names)
    hint = did_you_mean(key, choice) or (f"; {owner} has {', '.join(choice)}" if choice else "; remove it")
    return f"unknown key {key!r} in {owner}{hint}"
