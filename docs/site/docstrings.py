"""Teaches griffe the project's docstrings: comments that describe fields, and interpreter sessions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe

_MARK = "#:"
_SESSION = re.compile(r"^>>> .*(?:\n(?!\n).*)*", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Makes the comments of fields and constants their docstrings, and examples blocks of code."""

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[Path, list[str]] = {}

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the examples, so that nothing in them is read as Markdown."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            obj.docstring.value = _SESSION.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Look for a comment that begins with ``#:`` before the attribute's line, or at its end."""
        if attr.docstring is None and attr.lineno is not None and isinstance(attr.filepath, Path):
            lines = self._lines(attr.filepath)
            if text := _comment_before(lines, attr.lineno - 1) or _trailing_comment(lines[attr.lineno - 1]):
                attr.docstring = griffe.Docstring(text, parent=attr, lineno=attr.lineno)

    def _lines(self, file: Path) -> list[str]:
        if file not in self._files:
            self._files[file] = file.read_text(encoding="utf-8").splitlines()
        return self._files[file]


def _comment_before(lines: list[str], at: int) -> str:
    comment: list[str] = []
    while at > 0 and lines[at - 1].strip().startswith(_MARK):
        at -= 1
        comment.insert(0, lines[at].strip().removeprefix(_MARK).strip())
    return " ".join(comment)


def _trailing_comment(line: str) -> str:
    return line.partition(f"  {_MARK}")[2].strip()
