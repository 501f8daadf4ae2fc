"""Syntax: the text of an OpenAPI document as plain data. YAML means what its version 1.2 says, as OpenAPI wants it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import yaml

from newel.openapi.errors import DocumentError
from newel_kernel import Json

#: The most characters of a document, and the deepest nesting.
MOST, DEEPEST = 40_000_000, 200
#: The most values of a document, aliases written out.
MOST_VALUES = 3_000_000
_ALIAS = re.compile(r"(?:^|[\s\[{,:-])\*[^\s,\]}*]", re.MULTILINE)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Dates, ``no`` and ``0777`` are texts, and a key that stands twice is an error."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> Json:
        """The mapping, with keys that are texts."""
        made: Json = {}
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(None, None, "expected a mapping", node.start_mark)
        self.flatten_mapping(node)
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            name = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if name is None or name in made:
                problem = "a key must be a text" if name is None else f"the key {key!r} stands twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            made[name] = self.construct_object(value_node, deep=deep)
        return made


_BOOL = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
_NULL = re.compile(r"^(?:~|null|Null|NULL|)$")
_INT = re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"^[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+]?[0-9]+)?|(?:0|[1-9][0-9]*)[eE][-+]?[0-9]+)$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOL, list("tTfF"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", _NULL, ["~", "n", "N", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile("^<<$"), ["<"])


def read_document(text: str, kind: str) -> Json:
    """The document in a text of the kind ``json`` or ``yaml``; raises DocumentError."""
    if kind not in ("json", "yaml"):
        raise DocumentError(f"spec_str_type is {kind!r}; it must be 'json' or 'yaml'")
    if len(text) > MOST:
        raise DocumentError(f"the document has {len(text)} characters; at most {MOST} are read")
    try:
        read = json.loads(text) if kind == "json" else _read_yaml(text)
    except RecursionError:
        raise DocumentError(f"the document is nested more deeply than {DEEPEST} levels") from None
    except (ValueError, yaml.YAMLError) as error:
        hint = "; pass spec_str_type='yaml' if it is YAML" if kind == "json" else ""
        raise DocumentError(f"the document is not valid {kind.upper()}: {_line(error)}{hint}") from None
    if not isinstance(read, dict):
        raise DocumentError(f"the document must be a mapping, not {type(read).__name__}")
    return read


def _read_yaml(text: str) -> object:
    read: object = yaml.load(text, _Loader)  # noqa: S506 - a safe loader
    if _ALIAS.search(text):
        _check_size(read)
    return read


def _check_size(value: object) -> None:
    """Refuse what aliases blow up: a value that contains itself, or very many."""
    levels = [iter((value,))]
    count = 0
    while levels:
        inner = next(levels[-1], None) if levels else None
        if inner is None:
            levels.pop()
            continue
        count += 1
        if count > MOST_VALUES or len(levels) > DEEPEST:
            raise DocumentError("the aliases of the document (*name) lead to too many values; write them with $ref")
        levels.append(_children(inner))


def _children(value: object) -> Iterator[object]:
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return iter([one for one in values if one is not None])


def _line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"line {mark.line + 1}, column {mark.column + 1}: {problem}" if mark is not None else str(problem)
