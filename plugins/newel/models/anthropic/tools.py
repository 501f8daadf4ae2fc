"""Tools: declarations and the choice among them, in the service's form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from newel.models.anthropic.media import Report
from newel.models.json_schemas import Schema, json_schema, referred
from newel.models.wire.names import Names
from newel_kernel import Json
from newel_types import FunctionCallingConfig, FunctionDeclaration, GenerateContentConfig, Tool

_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_COMBINED = ("anyOf", "oneOf", "allOf")


@dataclass(slots=True)
class Tools:
    """What a request says about tools, and how to read the calls of its answer."""

    names: Names
    declared: list[Json] = field(default_factory=list)
    choice: Json | None = None
    #: By a tool's spelling: the spellings of its parameters -> their names.
    _parameters: dict[str, dict[str, str]] = field(default_factory=dict)

    def declare(self, declaration: FunctionDeclaration, report: Report) -> None:
        """Add a tool, unless its name is already declared."""
        name = self.names.out(declaration.name or "")
        if any(tool["name"] == name for tool in self.declared):
            return
        source = declaration.parameters_json_schema
        full = json_schema(source if source is not None else declaration.parameters)
        schema, spelt = input_schema(full)
        if spelt:
            self._parameters[name] = spelt
        if any(key in full for key in _COMBINED):
            problem = "has alternative sets of parameters, which cannot be declared; the parameters of all sets are"
            report(f"parameters of {declaration.name}", f"the tool {declaration.name} {problem}")
        description = {"description": declaration.description} if declaration.description else {}
        self.declared.append({"name": name, **description, "input_schema": schema})

    def arguments(self, name: str, args: Json) -> Json:
        """The arguments of a call of the tool that is spelt `name`, under the tool's own names."""
        spelt = self._parameters.get(name)
        return {spelt.get(key, key): value for key, value in args.items()} if spelt else args

    def cover(self, called: Iterable[str]) -> None:
        """Declare the tools that the history calls if the request has none; the service refuses calls without tools."""
        if not self.declared:
            schema = {"type": "object", "properties": {}}
            self.declared = [
                {"name": name, "description": "No longer available.", "input_schema": schema} for name in called
            ]
            if self.declared:
                self.choice = {"type": "none"}


def tools_of(config: GenerateContentConfig, names: Names, report: Report) -> Tools:
    """The tools of a request."""
    tools = Tools(names)
    for tool in config.tools or ():
        if not isinstance(tool, Tool):
            report("tools", f"a tool of the type {type(tool).__name__} cannot be declared; it is left out")
            continue
        for declaration in tool.function_declarations or ():
            tools.declare(declaration, report)
        for name in sorted(tool.model_fields_set - {"function_declarations"}):
            if getattr(tool, name) is not None:
                report(f"tools.{name}", f"the built-in tool {name} is one of Gemini's; it is left out")
    calling = config.tool_config.function_calling_config if config.tool_config is not None else None
    if calling is not None and tools.declared:
        tools.choice = _choice(calling, tools, report)
    return tools


def _choice(calling: FunctionCallingConfig, tools: Tools, report: Report) -> Json | None:
    mode = str(getattr(calling.mode, "value", calling.mode) or "AUTO")
    if mode == "NONE":
        return {"type": "none"}
    if mode != "ANY":
        return None
    allowed = [tools.names.out(name) for name in calling.allowed_function_names or ()]
    if len(allowed) == 1 and any(tool["name"] == allowed[0] for tool in tools.declared):
        return {"type": "tool", "name": allowed[0]}
    if allowed:
        report("allowed_function_names", "the service takes one allowed function or all of them; all are allowed")
    return {"type": "any"}


def input_schema(schema: Schema) -> tuple[Schema, dict[str, str]]:
    """The schema of a tool's parameters: an object without alternatives at its top; and its renamed parameters."""
    if isinstance(schema.get("$ref"), str):
        schema = {**referred(schema, schema), **{key: schema[key] for key in ("$defs",) if key in schema}}
    if any(key in schema for key in _COMBINED):
        schema = _merged(schema)
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    spelt = {_legal(name): name for name in properties if not _PROPERTY.fullmatch(name)}
    if spelt:
        out = {name: spelling for spelling, name in spelt.items()}
        properties = {out.get(name, name): inner for name, inner in properties.items()}
        if isinstance(schema.get("required"), list):
            schema = {**schema, "required": [out.get(name, name) for name in schema["required"]]}
    return {**schema, "type": "object", "properties": properties}, spelt


def _legal(name: str) -> str:
    return Names(64, r"[a-zA-Z0-9_.-]").out(name)


def _merged(schema: Schema) -> Schema:
    """An object with the properties of all alternatives; it requires what every valid choice of them requires."""
    rest = {key: value for key, value in schema.items() if key not in _COMBINED}
    properties: Schema = dict(rest.get("properties") or {})
    required: list[str] = list(rest.get("required") or ())
    for key in _COMBINED:
        branches = [referred(one, schema) for one in schema.get(key) or () if isinstance(one, dict)]
        for branch in branches:
            for name, inner in (branch.get("properties") or {}).items():
                properties.setdefault(name, inner)
        lists = [set(branch.get("required") or ()) for branch in branches]
        if lists:
            common = set.union(*lists) if key == "allOf" else set.intersection(*lists)
            required += sorted(common - set(required))
    return {**rest, "properties": properties, **({"required": required} if required else {})}
