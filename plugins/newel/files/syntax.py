"""YAML as agent files may use it: one document of plain data, read once, with the line of everything in it.

No anchors, aliases, merge keys, tags or duplicate keys, and bounds on size, depth and number of values. Scalars
follow the core schema of YAML 1.2, which editors assume: ``yes`` and ``12:30`` are texts, ``true`` is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from newel.events.text import one_line
from newel_compose import MAX_BYTES
from newel_kernel import AgentConfigError

MAX_DEPTH = 32
MAX_VALUES = 10_000

#: A place in a document: keys and indexes from the top.
Steps = tuple[str | int, ...]

_CONSTANTS = {"": None, "~": None} | {
    form: value
    for word, value in (("null", None), ("true", True), ("false", False))
    for form in (word, word.title(), word.upper())
}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

#: Hints for messages of the parser that say little.
_HINTS = {
    "mapping values are not allowed here": "; put a string with a colon in quotes, or fix the indentation",
    "found character '\\t' that cannot start any token": "; indent with spaces",
    "but found another document": ": remove the line `---`",
}


class AgentFileMissingError(FileNotFoundError, AgentConfigError):
    """An agent file, or one that it refers to, does not exist."""


def read_text(file: Path) -> str:
    """The text of a file that is not too large; a fault is an AgentConfigError."""
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise AgentConfigError(f"{file}:1: the file is larger than {MAX_BYTES // 1024} KiB; split it")
        return raw.decode("utf-8-sig")
    except OSError as error:
        kind = AgentFileMissingError if isinstance(error, FileNotFoundError) else AgentConfigError
        raise kind(f"{file}:1: the file cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise AgentConfigError(f"{file}:{line}: the file is not UTF-8 text; save it as UTF-8") from None


def parse(text: str, file: Path) -> tuple[object, dict[Steps, int]]:
    """The data of the document, and the line (from 1) of every key and item; a fault names file and line."""
    lines: dict[Steps, int] = {}
    with _reported(text, file):
        loader = _Composer(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
        return (None if node is None else _value(node, (), lines)), lines


@contextmanager
def _reported(text: str, file: Path) -> Iterator[None]:
    """Turn the parser's errors into AgentConfigErrors."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = one_line(error.problem or "not valid YAML")
        raise AgentConfigError(f"{file}:{line}: {problem}{_HINTS.get(problem, '')}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"the character U+{ord(text[error.position]):04X} is not allowed in YAML; remove it"
        raise AgentConfigError(f"{file}:{line}: {problem}") from None
    except yaml.YAMLError as error:
        raise AgentConfigError(f"{file}:1: not valid YAML: {type(error).__name__}") from None


def _fault(problem: str, where: yaml.Event | yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=where.start_mark)  # type: ignore[arg-type]


class _Composer(yaml.SafeLoader):
    """Composes the tree of nodes and stops at the first thing that an agent file must not hold.

    Everything is checked on events, before anything recurses or grows.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        self._check(event)
        collection = isinstance(event, yaml.CollectionStartEvent)
        self._depth += collection
        if self._depth > MAX_DEPTH:
            raise _fault(f"nested deeper than {MAX_DEPTH} levels; flatten it", event)
        node = super().compose_node(parent, index)
        self._depth -= collection
        return node

    def _check(self, event: yaml.AliasEvent | yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if isinstance(event, yaml.AliasEvent):
            raise _fault(f"aliases are not allowed (*{event.anchor}); write the value out", event)
        if event.anchor is not None:
            raise _fault(f"anchors are not allowed; remove &{event.anchor}", event)
        if event.tag is not None:
            tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")
            raise _fault(f"tags are not allowed; remove {tag!r}", event)
        self._values += 1
        if self._values > MAX_VALUES:
            raise _fault(f"the file holds more than {MAX_VALUES:,} values; split it", event)


def _value(node: yaml.Node, steps: Steps, lines: dict[Steps, int]) -> object:
    lines.setdefault(steps, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*steps, index), lines) for index, item in enumerate(node.value)]
    data: dict[object, object] = {}
    for key_node, value_node in node.value:
        key = _key(key_node)
        if key in data:
            raise _fault(f"the key {key_node.value!r} appears twice; keep one of them", key_node)
        here = (*steps, str(key))
        lines[here] = key_node.start_mark.line + 1  # the key's line, not that of its first child
        data[key] = _value(value_node, here, lines)
    return data


def _key(node: yaml.Node) -> object:
    if not isinstance(node, yaml.ScalarNode) or (key := _scalar(node)) is None:
        raise _fault("a key must be a string, not a list, a mapping or nothing; put it in quotes", node)
    if key == "<<" and node.style is None:
        raise _fault("merge keys (<<) are not allowed; write the values out", node)
    return key


def _scalar(node: yaml.ScalarNode) -> object:
    text: str = node.value
    if node.style is not None:  # quoted, or a block
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INT.fullmatch(text):
        try:
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        except ValueError:
            raise _fault("the number has too many digits; put it in quotes", node) from None
    if _FLOAT.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text
