"""What is changed: mutmut's operators, and two that it lacks, on the bodies of a file's functions.

Not changed, for no test should hold it: the texts of errors and logs, annotations, decorators, assertions (they are
for the type checker), and what only the type checker reads. Defaults and what runs once at import are not changed
either: a mutant is the code of a function, put in place of the one that is loaded.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import CodeType

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal, operator_string

#: A function's place in a file: its qualified name, and the how manyth it is of that name (lambdas share one).
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one function."""

    path: Path
    function: str
    #: The lines of the statement that is changed; of one with a body, those of its head.
    first: int
    last: int
    #: The lines of the function's body.
    begin: int
    end: int
    before: str
    after: str
    source: str
    #: Which one it is of those that look the same.
    number: int
    #: Another one says that the function is not the same any more.
    function_digest: str

    @property
    def name(self) -> str:
        """What stays when lines move: the function, and the line before and after."""
        same = f" ({self.number})" if self.number else ""
        return f"{os.path.relpath(self.path)}:{self.function}: {self.before}  ->  {self.after}{same}"

    def codes(self) -> Iterator[tuple[CodeType, CodeType]]:
        """Each code object of the changed function, and of those within it, with what takes its place."""
        new = places(compile(self.source, str(self.path), "exec", dont_inherit=True))
        for place, code in places(compile(self.path.read_bytes(), str(self.path), "exec", dont_inherit=True)).items():
            name = place[0]
            if (name == self.function or name.startswith(f"{self.function}.<locals>.")) and place in new:
                yield code, new[place]


def places(code: CodeType) -> dict[Place, CodeType]:
    """Every function's code in a module's."""
    found: dict[Place, CodeType] = {}

    def walk(outer: CodeType) -> None:
        for code in outer.co_consts:
            if isinstance(code, CodeType):
                found[code.co_qualname, sum(name == code.co_qualname for name, _ in found)] = code
                walk(code)

    walk(code)
    return found


def mutants_of(path: Path) -> list[Mutant]:
    """The mutants of a file, in its order."""
    wrapper = MetadataWrapper(cst.parse_module(path.read_bytes()))
    visitor = _Visitor(path, wrapper.module)
    wrapper.visit(visitor)
    return visitor.found


_TEXTS = m.Raise() | m.Call(func=m.Attribute(value=m.Name("_log")) | m.Attribute(attr=m.Name("add_note")))
_TYPES = m.Annotation() | m.Decorator() | m.Parameters() | m.Assert() | m.If(test=m.Name("TYPE_CHECKING"))
_CAST = m.Call(func=m.Name("cast"))


class _Visitor(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, path: Path, module: cst.Module) -> None:
        super().__init__()
        self.path, self.module = path, module
        self.lines = module.code.splitlines()
        self.found: list[Mutant] = []
        self.alike: Counter[tuple[str, str, str]] = Counter()
        self.stack: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        self.stack.append(node)
        if m.matches(node, _TYPES | _CAST):
            return False
        if any(isinstance(one, cst.FunctionDef) for one in self.stack[:-1]):
            for changed in self._changes(node):
                self._add(node, changed)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        self.stack.pop()

    def _changes(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        in_text = any(m.matches(one, _TEXTS) for one in self.stack)
        for kind, operator in mutation_operators:
            if not isinstance(node, kind):
                continue
            if operator is operator_string:
                if not in_text and not isinstance(self.stack[-2], cst.Expr):  # a docstring
                    yield from list(operator(node))[:1]  # "XX": its cases tell nothing more
            elif operator is operator_arg_removal:
                yield from (one for one in operator(node) if not _lacks_positional(node, one))
            else:
                yield from operator(node)
        if isinstance(node, cst.If | cst.While | cst.IfExp | cst.CompIf):
            yield node.with_changes(test=_opposite(node.test))
        elif isinstance(node, cst.Expr) and not isinstance(node.value, cst.SimpleString | cst.Yield | cst.Ellipsis):
            yield cst.Pass()

    def _add(self, node: cst.CSTNode, changed: cst.CSTNode) -> None:
        top = next(one for one in self.stack if isinstance(one, cst.FunctionDef | cst.ClassDef))
        kinds = cst.BaseCompoundStatement | cst.SimpleStatementLine
        statement = next(one for one in reversed(self.stack) if isinstance(one, kinds))
        place = self.get_metadata(PositionProvider, statement)
        body = getattr(statement, "body", None) if isinstance(statement, cst.BaseCompoundStatement) else None
        last = self.get_metadata(PositionProvider, body.body[0]).start.line - 1 if body is not None else place.end.line
        source = self.module.deep_replace(top, top.deep_replace(node, changed)).code
        try:
            ast.parse(source)
        except SyntaxError:  # mutmut's `break` -> `return` in an asynchronous generator, and the like
            return
        after = source.splitlines()
        lines = [i for i, (old, new) in enumerate(zip(self.lines, after, strict=False)) if old != new]
        if not lines:
            return
        function = next(one for one in self.stack if isinstance(one, cst.FunctionDef))
        body_place = self.get_metadata(PositionProvider, function.body)
        looks = (_qualified(self.stack), self.lines[lines[0]].strip(), after[lines[0]].strip())
        self.found.append(
            Mutant(
                self.path,
                looks[0],
                place.start.line,
                max(place.start.line, last),
                body_place.start.line,
                body_place.end.line,
                looks[1],
                looks[2],
                source,
                self.alike[looks],
                sha256(self.module.code_for_node(function).encode()).hexdigest()[:16],
            )
        )
        self.alike[looks] += 1


def _lacks_positional(call: cst.CSTNode, changed: cst.CSTNode) -> bool:
    """Whether an argument without a name was left out: that is a TypeError, or what None in its place shows too."""
    count = [sum(arg.keyword is None and not arg.star for arg in one.args) for one in (call, changed)]  # type: ignore[attr-defined]
    return count[1] < count[0]


def _opposite(test: cst.BaseExpression) -> cst.BaseExpression:
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        return test.expression
    return cst.UnaryOperation(cst.Not(), test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()]))


def _qualified(stack: list[cst.CSTNode]) -> str:
    """The name of the outermost function, with its classes."""
    names: list[str] = []
    for node in stack:
        if isinstance(node, cst.ClassDef | cst.FunctionDef):
            names.append(node.name.value)
        if isinstance(node, cst.FunctionDef):
            break
    return ".".join(names)
