"""LangchainTool: a LangChain tool, or any object that looks like one, as a tool."""

from __future__ import annotations

import asyncio
import inspect
from typing import Protocol, TypeGuard

from pydantic import BaseModel

from newel.contexts.model_data import model_json
from newel.tools.function_schema import without_titles
from newel_kernel import BaseTool, ConfigurationError, Context, Json
from newel_types import FunctionDeclaration

_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


class ForeignTool(Protocol):
    """The members of LangChain's tools that are used. `args_schema` is a pydantic class, or a JSON schema."""

    name: str
    description: str
    args_schema: object

    def invoke(self, input: object) -> object:
        """Run the tool."""


def looks_like(entry: object) -> TypeGuard[ForeignTool]:
    """Whether `entry` has a name, a description, arguments and a way to invoke it, as LangChain's tools have."""
    if isinstance(entry, (type, BaseTool)) or not (hasattr(entry, "args_schema") and hasattr(entry, "description")):
        return False
    return isinstance(getattr(entry, "name", None), str) and callable(getattr(entry, "invoke", None))


class LangchainTool(BaseTool):
    """Calls `tool.ainvoke` (or `tool.invoke`, in a thread); `name` and `description` replace the tool's own."""

    def __init__(self, tool: object, name: str | None = None, description: str | None = None) -> None:
        if not looks_like(tool):
            raise ConfigurationError(
                f"{tool!r} is not a LangChain tool: it needs `name`, `description`, `args_schema` and `invoke`"
            )
        super().__init__(name=name or tool.name, description=description or tool.description or "")
        self.tool = tool

    @property
    def __newel_origin__(self) -> str:
        """The wrapped tool's class and name."""
        return f"{type(self.tool).__module__}.{type(self.tool).__qualname__} {self.tool.name!r}"

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=_schema(self._shown())
        )

    def _shown(self) -> object:
        """The arguments that the model gives: LangChain injects the others."""
        declared = self.tool.args_schema
        return (getattr(self.tool, "tool_call_schema", None) or declared) if declared is not None else None

    def _given(self, args: Json) -> Json:
        """The model's arguments without those that are injected, which it must not set."""
        if (shown := self._shown()) is self.tool.args_schema:
            return args
        injected = _schema(self.tool.args_schema).get("properties", {}).keys() - _schema(shown).get("properties", {})
        return {name: value for name, value in args.items() if name not in injected}

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """Invoke the tool; a tool without a schema of its arguments gets its one text."""
        value: object = self._given(args) if self.tool.args_schema is not None else args.get("input", "")
        own = getattr(self.tool, "ainvoke", None)
        result = await (own(value) if own is not None else asyncio.to_thread(self.tool.invoke, value))
        result = await result if inspect.isawaitable(result) else result
        return model_json(result) if isinstance(result, BaseModel) else result


def _schema(declared: object) -> Json:
    """The JSON schema of `args_schema`: a pydantic class, one of pydantic's first version, or a JSON schema."""
    if declared is None:
        return _TEXT
    if isinstance(declared, dict):
        return declared
    make = getattr(declared, "model_json_schema", None) or getattr(declared, "schema", None)
    if make is None:
        raise ConfigurationError(f"args_schema {declared!r} is neither a pydantic class nor a JSON schema")
    schema: Json = without_titles(make())
    schema.pop("description", None)  # the class's docstring; the tool has its own
    return schema
