"""Strict YAML: without aliases and duplicate keys; a fault is an error with file and line."""

from __future__ import annotations

from collections.abc import Hashable
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from newel_kernel import ConfigurationError

#: The longest text that `load_yaml` takes, in characters.
MAX_BYTES = 256 * 1024


if TYPE_CHECKING or not yaml.__with_libyaml__:
    _Loader = yaml.SafeLoader
else:
    from yaml._yaml import CParser

    class _Loader(Composer, CParser, SafeConstructor, Resolver):
        """A SafeLoader that scans the text in C, at a fifth of the cost."""

        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            Composer.__init__(self)
            SafeConstructor.__init__(self)
            Resolver.__init__(self)


class _StrictLoader(_Loader):
    """YAML without aliases and without duplicate keys; both hide what a file says."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases are not allowed", problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, (str, int, float, bool)) and key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} appears twice", problem_mark=key_node.start_mark)
            if isinstance(key, (str, int, float, bool)):
                seen.add(key)
        return super().construct_mapping(node, deep)


def load_yaml(text: str, source: str) -> Any:
    """The data of one YAML document; a fault is a ConfigurationError that starts with ``file:line``."""
    if len(text) > MAX_BYTES:
        raise ConfigurationError(f"{source}:1: the file is larger than {MAX_BYTES // 1024} KiB")
    try:
        return deepcopy(_parsed(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 1
        raise ConfigurationError(f"{source}:{line}: {error.problem or 'not valid YAML'}") from None
    except RecursionError:  # from 6.0.4 on PyYAML has its own limit, and its error has the line
        raise ConfigurationError(f"{source}:1: nested too deeply") from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{source}:1: not valid YAML: {error.__class__.__name__}") from None


@lru_cache(maxsize=16)
def _parsed(text: str) -> object:
    """The parsed text, cached: each runner reads its distribution again, and parsing takes ten milliseconds."""
    return yaml.load(text, _StrictLoader)  # noqa: S506 - a SafeLoader


def line_of(text: str, key: str) -> int:
    """The first line (from 1) that has `key` as a key; 1 if none has."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().lstrip("- ").startswith((f"{key}:", f'"{key}":', f"'{key}':")):
            return number
    return 1


def read_text(path: Path) -> str:
    """The text of a file; a ConfigurationError if it cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: the file cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{path}:{line}: not UTF-8 text ({error.reason}); save the file in UTF-8") from None
