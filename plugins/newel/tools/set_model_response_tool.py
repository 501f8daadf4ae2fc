"""The tool with which a model gives a structured final answer."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from newel.tools.structured_output import (
    GIVEN_ANSWERS,
    GivenAnswer,
    full_answer,
    json_answer,
    problems_of,
    validated_json,
)
from newel_kernel import BaseTool, Context, Json
from newel_types import FunctionDeclaration

NAME = "set_model_response"


class SetModelResponseTool(BaseTool):
    """`set_model_response`: its parameters are the fields of the schema (or `items`, if that is a list)."""

    def __init__(self, output_schema: Any) -> None:
        super().__init__(
            name=NAME,
            description="Set your final response in the required output schema. Use it once, instead of a text answer.",
        )
        self.output_schema = output_schema
        is_json_schema = isinstance(output_schema, dict)
        self._adapter: TypeAdapter[object] | None = None if is_json_schema else TypeAdapter(output_schema)
        schema = output_schema if self._adapter is None else self._adapter.json_schema()
        self._wrapped = schema.get("type") != "object" and "properties" not in schema
        if self._wrapped:
            definitions = schema.pop("$defs", None)
            schema = {"type": "object", "properties": {"items": schema}, "required": ["items"]}
            if definitions:
                schema["$defs"] = definitions
        # Every field is asked for, those with a default too: the answer is to be complete.
        fields = schema.get("properties") or {}
        self._schema = {
            **schema,
            "properties": {n: {k: v for k, v in p.items() if k != "default"} for n, p in fields.items()},
            "required": list(fields),
        }

    def _get_declaration(self) -> FunctionDeclaration:
        return FunctionDeclaration(name=self.name, description=self.description, parameters_json_schema=self._schema)

    async def run_async(self, *, args: Json, tool_context: Context) -> object:
        """Validate the answer; a wrong one is an error result, so that the model can mend it."""
        value: object = args.get("items") if self._wrapped else args
        if self._adapter is not None:
            try:
                parsed = validated_json(self._adapter, value)
            except ValidationError as error:
                return {"error": f"the response does not fit the schema: {problems_of(error)}"}
            answer = GivenAnswer(value, full_answer(self._adapter, parsed))
            tool_context.get_invocation_context().stash[GIVEN_ANSWERS][tool_context.function_call_id] = answer
            value = json_answer(self._adapter, parsed)
        tool_context.actions.set_model_response = value
        return value
