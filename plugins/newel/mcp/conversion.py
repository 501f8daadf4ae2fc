"""Conversion: a tool of an agent's as the SDK's type for the tools of servers."""

from __future__ import annotations

from typing import Any

from newel.models.json_schemas import json_schema
from newel_kernel import BaseTool, FeatureUnavailableError, Json


def gemini_to_json_schema(gemini_schema: object) -> Json:
    """A schema of google-genai's, or of newel's, as a JSON schema."""
    return json_schema(gemini_schema)


def mcp_tool_of(tool: BaseTool) -> Any:
    """`tool` as an ``mcp.types.Tool``; a tool that does not declare itself takes any arguments."""
    try:
        from mcp_types import Tool
    except ImportError as error:
        raise FeatureUnavailableError("tools of MCP need its SDK: pip install 'newel[mcp]'") from error
    declaration = tool._get_declaration()
    schema: Json = {"type": "object", "properties": {}}
    if declaration is not None:
        given = declaration.parameters_json_schema
        schema = {**schema, **json_schema(declaration.parameters if given is None else given)}
    return Tool(name=tool.name, description=tool.description, input_schema=schema)
