"""A public object as Markdown: its signature, docstring, fields and members, read from the object itself."""

from __future__ import annotations

import ast
import enum
import html
import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from newel.cli.plugin_settings import comments_of

#: The characters of a signature that fit beside the contents of a page.
_WIDTH = 84
#: A value that is longer than this is left out.
_LONGEST_VALUE = 200
_SESSION = re.compile(r"^>>> .*(?:\n(?!\n).*)*", re.MULTILINE)
_MARK = "#:"


class _Text:
    """An annotation that a signature shows as its file writes it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def as_text(annotation: object) -> _Text:
    """The annotation without the quotes of a string."""
    return _Text(annotation if isinstance(annotation, str) else inspect.formatannotation(annotation))


def signature(function: Any, name: str, *, prefix: str = "def ", bound: bool = False) -> str:
    """A block with a function's signature; a long one has a line for each parameter."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return f"```python\n{prefix}{name}\n```"
    parameters = list(_parameters(list(found.parameters.values())[1 if bound else 0 :]))
    returned = "" if found.return_annotation is found.empty else f" -> {as_text(found.return_annotation)!r}"
    text = f"{prefix}{name}({', '.join(parameters)}){returned}"
    if len(text) > _WIDTH:
        text = f"{prefix}{name}(\n" + "".join(f"    {parameter},\n" for parameter in parameters) + f"){returned}"
    return f"```python\n{text}\n```"


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """The parameters as they are written, with the marks that divide them."""
    positional, starred = False, False
    for parameter in parameters:
        if positional and parameter.kind is not parameter.POSITIONAL_ONLY:
            yield "/"
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            yield "*"
        positional = parameter.kind is parameter.POSITIONAL_ONLY
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        annotated = parameter.annotation is not parameter.empty
        yield str(parameter.replace(annotation=as_text(parameter.annotation)) if annotated else parameter)
    if positional:
        yield "/"


def docstring(value: object) -> str:
    """What the object itself says, with its interpreter sessions as blocks."""
    text = vars(value).get("__doc__") if inspect.isclass(value) else inspect.getdoc(value)
    return _SESSION.sub(r"```pycon\n\g<0>\n```", inspect.cleandoc(text or ""))


def described(value: Any, heading: str, *, level: int = 2, anchor: str = "", source: tuple[str, str]) -> str:
    """The section of an object; `source` is the module and the name under which a file defines it."""
    title = f"{'#' * level} `{heading}`" + (f" {{#{anchor}}}" if anchor else "")
    if inspect.isclass(value):
        parts = [class_signature(value, heading), docstring(value), fields_of(value)]
        parts += [_member(member, level + 1, anchor) for member in members(value)]
    elif inspect.isroutine(value):
        prefix = "async def " if inspect.iscoroutinefunction(value) else "def "
        parts = [signature(value, heading, prefix=prefix), docstring(value)]
    else:
        constant = constants(source[0]).get(source[1])
        parts = [constant.block(heading), constant.comment] if constant else [docstring(value)]
    return "\n\n".join(filter(None, [title, *parts]))


def class_signature(value: type, name: str) -> str:
    """A record with its bases, for its fields follow; any other class with what it takes."""
    bases = [base.__name__ for base in value.__bases__ if base is not object]
    if defaults(value) or issubclass(value, (enum.Enum, BaseException)) or getattr(value, "_is_protocol", False):
        listed = f"({', '.join(bases)})" if bases else ""
        return f"```python\nclass {name}{listed}\n```"
    return signature(value, name, prefix="class ")


# --- members ----------------------------------------------------------------------------------------------------------


class Member:
    """A public method or property that a class defines itself."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value

    @property
    def function(self) -> Any:
        """The function behind it."""
        if isinstance(self.value, property | cached_property):
            return self.value.fget if isinstance(self.value, property) else self.value.func
        return inspect.unwrap(getattr(self.value, "__func__", self.value))

    @property
    def block(self) -> str:
        """Its signature."""
        if isinstance(self.value, property | cached_property):
            returned = _returned(self.function)
            return f"```python\n{self.name}{f': {returned}' if returned else ''}\n```"
        kinds = {classmethod: "@classmethod\n", staticmethod: "@staticmethod\n"}
        decorator = next((text for kind, text in kinds.items() if isinstance(self.value, kind)), "")
        function = self.function
        keyword = "async def " if inspect.iscoroutinefunction(function) else "def "
        return signature(
            function, self.name, prefix=decorator + keyword, bound=not isinstance(self.value, staticmethod)
        )


def members(value: type) -> list[Member]:
    """The methods and properties of a class, in the order of its file."""
    kinds = (property, cached_property, classmethod, staticmethod)
    inherited = vars(BaseModel)
    return [
        Member(name, one)
        for name, one in vars(value).items()
        if not name.startswith("_") and name not in inherited and (inspect.isfunction(one) or isinstance(one, kinds))
    ]


def _returned(function: Any) -> str:
    """What a function is annotated to return, or nothing."""
    annotation = function.__annotations__.get("return", "") if inspect.isfunction(function) else ""
    return repr(as_text(annotation)) if annotation != "" else ""


def _member(member: Member, level: int, anchor: str) -> str:
    identifier = f" {{#{anchor}.{member.name}}}" if anchor else ""
    text = docstring(member.function) if inspect.isroutine(member.function) else ""
    return "\n\n".join(filter(None, [f"{'#' * level} `{member.name}`{identifier}", member.block, text]))


# --- fields -----------------------------------------------------------------------------------------------------------


def defaults(value: Any) -> dict[str, object]:
    """The fields of a record with their defaults, inherited ones included; empty for anything else."""
    if inspect.isclass(value) and issubclass(value, BaseModel):
        return {name: field.get_default() for name, field in value.model_fields.items() if field.init is not False}
    if inspect.isclass(value) and is_dataclass(value):
        return {field.name: field.default for field in fields(value) if not field.name.startswith("_")}
    return {}


def fields_of(value: Any) -> str:
    """A table of a record's fields, of an enumeration's values, or of the attributes that a class declares."""
    if issubclass(value, enum.Enum):
        names: dict[str, object] = {name: member.value for name, member in value.__members__.items()}
    else:
        names = defaults(value) or {name: vars(value).get(name, MISSING) for name in _declared(value)}
    if not names:
        return ""
    comments = comments_of(value)
    annotations = {name: text for kind in reversed(value.__mro__) for name, text in _annotations(kind).items()}
    rows = [
        (f"`{name}`", code(_plain(annotations.get(name, ""))), _default(default), comments.get(name, ""))
        for name, default in names.items()
    ]
    lines = ["| field | type | default | |", "|---|---|---|---|", *("| " + " | ".join(row) + " |" for row in rows)]
    return "\n".join(lines)


def _plain(annotation: str) -> str:
    """The annotation without what only pydantic reads."""
    found = re.match(r"Annotated\[(.*), (?:After|Before)Validator\(\w+\)\]", annotation)
    return found[1] if found else annotation


def code(text: str) -> str:
    """The text as code in a table's cell. A bar would end the cell, and backticks show the backslash before it."""
    if "|" in text:
        return f"<code>{html.escape(text, quote=False).replace('|', '&#124;')}</code>"
    return f"`{text}`" if text else ""


def _declared(kind: type) -> list[str]:
    """The public attributes that a class annotates itself."""
    return [name for name in _annotations(kind) if not name.startswith("_")]


def _annotations(kind: type) -> dict[str, str]:
    """The annotations of a class as its file writes them."""
    return {name: text for name, text in vars(kind).get("__annotations__", {}).items() if isinstance(text, str)}


def _default(value: object) -> str:
    if value is PydanticUndefined or value is MISSING:
        return ""
    return code(repr(value)) if isinstance(value, (str, int, float, bool, type(None), tuple)) and value != () else ""


# --- constants --------------------------------------------------------------------------------------------------------


class Constant:
    """A name that a module assigns."""

    def __init__(self, node: ast.Assign | ast.AnnAssign, comment: str) -> None:
        self.node = node
        self.comment = comment

    def block(self, name: str) -> str:
        """The assignment; a long value is left out."""
        annotation = f": {ast.unparse(self.node.annotation)}" if isinstance(self.node, ast.AnnAssign) else ""
        value = ast.unparse(self.node.value) if self.node.value is not None else ""
        shown = f" = {value}" if value and len(value) <= _LONGEST_VALUE else ""
        return f"```python\n{name}{annotation}{shown}\n```"


@cache
def constants(module: str) -> dict[str, Constant]:
    """The names that a module of newel assigns, with the comments that begin with ``#:``."""
    text = source_of(module)
    lines = text.splitlines()
    found: dict[str, Constant] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    found[target.id] = Constant(node, _comment_before(lines, node.lineno - 1))
    return found


def _comment_before(lines: list[str], at: int) -> str:
    comment: list[str] = []
    while at > 0 and lines[at - 1].startswith(_MARK):
        at -= 1
        comment.insert(0, lines[at].removeprefix(_MARK).strip())
    return " ".join(comment)


@cache
def source_of(module: str) -> str:
    """The text of a module's file."""
    spec = find_spec(module)
    return Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
