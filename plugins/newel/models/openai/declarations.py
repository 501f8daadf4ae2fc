"""Declarations: the tools of a request, under legal names, and which of them the model may or must call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from newel.models.json_schemas import Schema, json_schema
from newel.models.openai.history import as_json
from newel.models.openai.strict import parameters, strict_schema, without_nulls
from newel.models.openai.thinking import Report
from newel.models.wire.names import Names
from newel_types import FunctionCallingConfigMode, FunctionDeclaration, GenerateContentConfig, Tool


@dataclass(frozen=True, slots=True)
class Declaration:
    """A tool, as it is sent."""

    name: str
    description: str
    parameters: Schema | None
    strict: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """``auto``, ``none`` or ``required``; `names` if it is a choice among some tools only."""

    mode: str
    names: tuple[str, ...] = ()


class Declarations:
    """The tools that a request declares."""

    def __init__(self, config: GenerateContentConfig, names: Names, report: Report, *, strict: bool) -> None:
        self.tools: list[Declaration] = []
        #: The original schemas of the strict tools, by the name that is sent.
        self._schemas: dict[str, Schema] = {}
        self._names = names
        for declared in _functions(config, report):
            self._declare(declared, strict)

    def arguments(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Arguments as the tool takes them, without the nulls that strict mode made the model write."""
        schema = self._schemas.get(name)
        return without_nulls(args, schema, schema) if schema is not None and args else args

    def choice(self, config: GenerateContentConfig, forced: bool, report: Report) -> Choice | None:
        """What the request says about calling tools; None if it says nothing. `forced`: a call can be forced."""
        calling = config.tool_config.function_calling_config if config.tool_config is not None else None
        mode = calling.mode if calling is not None else None
        if calling is None or mode is None or not self.tools:
            return None
        declared = {tool.name for tool in self.tools}
        allowed = (self._names.out(name) for name in calling.allowed_function_names or ())
        names = tuple(name for name in allowed if name in declared)
        if mode is FunctionCallingConfigMode.NONE:
            return Choice("none")
        if mode is FunctionCallingConfigMode.ANY:
            if forced:
                return Choice("required", names)
            report("tool_config", "this model cannot be made to call a tool; it may call one")
        return Choice("auto", names)

    def _declare(self, declared: FunctionDeclaration, strict: bool) -> None:
        name = self._names.out(declared.name or "")
        description = declared.description or ""
        source = declared.parameters_json_schema if declared.parameters_json_schema is not None else declared.parameters
        if source is None:
            self.tools.append(Declaration(name, description, None, strict=False))
            return
        schema = json_schema(source)
        closed = strict_schema(schema) if strict else None
        if closed is None:
            self.tools.append(Declaration(name, description, parameters(schema), strict=False))
            return
        self._schemas[name] = schema
        if defaults := _defaults(schema):
            description = f"{description}\n\n{defaults}".strip()
        self.tools.append(Declaration(name, description, closed, strict=True))


def _functions(config: GenerateContentConfig, report: Report) -> Iterator[FunctionDeclaration]:
    for tool in config.tools or ():
        if isinstance(tool, Tool):
            yield from tool.function_declarations or ()
            others = sorted(name for name in tool.model_fields_set if name != "function_declarations")
            others = [name for name in others if getattr(tool, name) is not None]
        else:
            others = [getattr(tool, "__name__", type(tool).__name__)]
        for name in others:
            report(f"tools.{name}", f"the tool {name!r} belongs to another service and is not declared")


def _defaults(schema: Schema) -> str:
    """The defaults of parameters, which strict mode cannot express."""
    properties = schema.get("properties") or {}
    pairs = [
        f"{name} = {as_json(inner['default'])}"
        for name, inner in properties.items()
        if isinstance(inner, dict) and inner.get("default") is not None
    ]
    return f"If null: {', '.join(pairs)}." if pairs else ""
