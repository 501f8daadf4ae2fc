"""Documents: the data of a YAML file together with the line of everything in it.

The rules are the kernel's (no aliases, no duplicate keys, bounded size); a bound on the depth and the
interpolation of environment variables come on top.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mortise_kernel.distribution import MAX_BYTES, load_yaml
from mortise_kernel.errors import AgentConfigError, ConfigurationError

MAX_DEPTH = 32
_REFERENCE = re.compile(r"\$(?:(?P<escaped>\$)(?=\{)|\{(?P<name>[^{}]*)\})")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

#: A place in a document: keys and indexes from the top.
Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One file: its `data`, and the line (from 1) of every key and item."""

    #: As the user wrote it, for messages.
    file: Path
    data: dict[str, Any]
    lines: Mapping[Steps, int]

    def line(self, steps: Steps = ()) -> int:
        """The line of a place; of what contains it where it does not exist."""
        while steps not in self.lines and steps:
            steps = steps[:-1]
        return self.lines.get(steps, 1)

    def error(self, steps: Steps, message: str) -> AgentConfigError:
        """``file:line: message``, on one line."""
        return AgentConfigError(f"{self.file}:{self.line(steps)}: {one_line(message)}")


def one_line(text: object) -> str:
    """`text` without line breaks."""
    return "; ".join(line.strip() for line in str(text).splitlines() if line.strip())


def read_document(file: Path) -> Document:
    """The document of a YAML file that holds a mapping; a fault is an AgentConfigError that names file and line."""
    text = _text(file)
    _check_depth(text, file)
    try:
        data = load_yaml(text, str(file))
    except ConfigurationError as error:
        raise AgentConfigError(one_line(error)) from None
    except ValueError as error:  # a date or a number that looks like one and is none
        raise AgentConfigError(f"{file}:1: a value is not valid YAML ({error}); put it in quotes") from None
    if not isinstance(data, dict):
        raise AgentConfigError(
            f"{file}:1: the file is empty or no mapping; an agent file has lines such as `name: helper`"
        )
    lines = dict(_lines(yaml.compose(text, Loader=yaml.SafeLoader), ()))
    document = Document(file, data, lines)
    return Document(file, _interpolated(data, (), document), lines)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise AgentConfigError(f"{file}:1: the file is larger than {MAX_BYTES // 1024} KiB; split it")
        return raw.decode("utf-8")
    except OSError as error:
        raise AgentConfigError(f"{file}:1: the file cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise AgentConfigError(f"{file}:1: the file is not UTF-8 text") from None


def _check_depth(text: str, file: Path) -> None:
    """Refuse deep nesting before anything recurses into it; events are made without recursion."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    line = event.start_mark.line + 1 if event.start_mark else 1
                    raise AgentConfigError(f"{file}:{line}: nested deeper than {MAX_DEPTH} levels; flatten it")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        return  # load_yaml says what is wrong and where


def _lines(node: Any, steps: Steps) -> Iterator[tuple[Steps, int]]:
    yield steps, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*steps, str(key.value))
            yield from _lines(value, here)
            yield here, key.start_mark.line + 1  # the key's line, not that of its first child
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _lines(item, (*steps, index))


def _interpolated(value: Any, steps: Steps, document: Document) -> Any:
    """`value` with every ``${NAME}`` replaced by the environment variable; ``$${`` stands for ``${``."""
    if isinstance(value, dict):
        return {key: _interpolated(item, (*steps, str(key)), document) for key, item in value.items()}
    if isinstance(value, list):
        return [_interpolated(item, (*steps, index), document) for index, item in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value

    def replacement(match: re.Match[str]) -> str:
        if match["escaped"]:
            return "$"
        name = match["name"]
        if not _NAME.fullmatch(name):
            hint = "write ${NAME}, or $${ for the text ${"
            raise document.error(steps, f"{match[0]!r} is no reference to an environment variable; {hint}")
        if name not in os.environ:
            hint = f"set it, or write $${{{name}}} for the text ${{{name}}}"
            raise document.error(steps, f"the environment variable {name!r} is not set; {hint}")
        return os.environ[name]

    return _REFERENCE.sub(replacement, value)
