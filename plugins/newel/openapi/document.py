"""Document: an OpenAPI document as it was read, of which only what is asked for is looked at.

References are followed within the document alone: one that leads to a file or another address is refused, and nothing
is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from newel.openapi.errors import DocumentError
from newel_kernel import Json

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_VERSION = re.compile(r"3\.\d+(\.\d+)?\S*")
#: How many references may lead to each other before a value is reached.
_LONGEST_CHAIN = 50


@dataclass(frozen=True, slots=True)
class Entry:
    """An operation as it stands in the document. `method` is in capitals."""

    method: str
    path: str
    operation: Json
    #: What stands next to the operations of a path: parameters and servers for all of them.
    shared: Json

    @property
    def place(self) -> str:
        """How messages name the operation."""
        return f"{self.method} {self.path}"


class Document:
    """A document; raises DocumentError if it is not one of OpenAPI 3."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root if isinstance(root, dict) else dict(root)
        version = self.root.get("openapi")
        if version is None and "swagger" in self.root:
            raise DocumentError(
                f"the document is Swagger {self.root['swagger']}; convert it to OpenAPI 3 (such as with "
                "https://converter.swagger.io)"
            )
        if not isinstance(version, (str, float)) or not _VERSION.fullmatch(str(version)):
            raise DocumentError(f"the field `openapi` is {version!r}; it must be a version of OpenAPI 3, such as 3.1.0")
        #: Whether schemas are those of OpenAPI 3.0, a dialect of its own; later ones are JSON Schema 2020-12.
        self.is_old = str(version).startswith("3.0")
        self._aliases: dict[str, Any] = {}

    @property
    def title(self) -> str:
        """The title, for messages."""
        info = self.root.get("info")
        title = info.get("title") if isinstance(info, dict) else None
        return title if isinstance(title, str) and title else "untitled"

    def entries(self) -> Iterator[Entry]:
        """The operations, in the document's order; raises DocumentError if the paths are not a mapping."""
        paths = self.root.get("paths", {})
        if not isinstance(paths, dict):
            raise DocumentError(f"`paths` must be a mapping, not {type(paths).__name__}")
        for path, found in paths.items():
            if not isinstance(path, str) or not path.startswith("/"):
                continue
            item = self.resolved(found, f"the path {path}")
            for method in METHODS:
                if isinstance(operation := item.get(method), dict):
                    yield Entry(method.upper(), path, operation, item)

    def resolved(self, value: object, place: str) -> Json:
        """The mapping that `value` is, or that it refers to."""
        for _ in range(_LONGEST_CHAIN):
            if not isinstance(value, dict):
                raise DocumentError(f"{place}: expected a mapping, not {type(value).__name__}")
            reference = value.get("$ref")
            if not isinstance(reference, str):
                return value
            value = self.find(reference, place)
        raise DocumentError(f"{place}: its references lead in a circle")

    def find(self, reference: str, place: str) -> Any:
        """What a reference within the document stands for."""
        if reference not in self._aliases:
            self._aliases[reference] = self._find(reference, place)
        return self._aliases[reference]

    def _find(self, reference: str, place: str) -> Any:
        shown = repr(reference[:120])
        if not reference.startswith("#"):
            raise DocumentError(
                f"{place}: the reference {shown} leads out of the document; put what it names into `components`"
            )
        value: Any = self.root
        pointer = reference[1:]
        if pointer and not pointer.startswith("/"):
            raise DocumentError(f"{place}: the reference {shown} must begin with #/")
        for step in pointer.split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and name.isdecimal() and len(name) < 9 and int(name) < len(value):
                value = value[int(name)]
            else:
                raise DocumentError(f"{place}: the reference {shown} leads nowhere: there is no {name!r}")
        return value
