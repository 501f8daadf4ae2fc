"""Inputs: what a server asks the person who calls its tool at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from newel.cli.terminal import say
from newel.mcp.questions import Asked, McpAsksError, form, page
from newel.mcp.texts import cleaned
from newel.questions.values import answer_value
from newel_kernel import ConfigurationError, Json


def answered(error: McpAsksError, server: str) -> Asked:
    """What the server asks, answered at the terminal; without one a ConfigurationError says what it asks."""
    asked = error.asked
    while asked.open is not None:
        params = asked.request.get("params") or {}
        message = cleaned(str(params.get("message") or "an input"), 500)
        if not sys.stdin.isatty():
            raise ConfigurationError(f"the server asks: {message} Call it at a terminal to answer, or from an agent")
        if params.get("mode") == "url":
            hint, _ = page(params, server)
            response: Json = {"action": "accept" if click.confirm(hint, err=True) else "decline"}
        else:
            response = _filled(form(params.get("requestedSchema"), server), f"The MCP server {server} asks: {message}")
        asked = asked.with_response(response)
    return asked


def _filled(schema: Json, message: str) -> Json:
    """A form, field by field; declined if a field that is required is left empty."""
    say(message, err=True)
    say("  (an empty line leaves a field out)", err=True, dim=True)
    content: Json = {}
    for name, field in schema["properties"].items():
        value = _field(name, field)
        if value is not None:
            content[name] = value
        elif name in schema["required"]:
            say("  (declined)", err=True, dim=True)
            return {"action": "decline"}
    return {"action": "accept", "content": content}


def _field(name: str, field: Mapping[str, Any]) -> object:
    """The value of a field, asked for until it fits; None if it is left out."""
    options = field.get("enum") or [one.get("const") for one in field.get("oneOf") or ()]
    kind = f"one of {', '.join(map(str, options))}" if options else str(field["type"])
    while text := click.prompt(f"  {field.get('title') or name} ({kind})", default="", show_default=False, err=True):
        try:
            return answer_value(name, {"result": text}, field)
        except ValueError as error:
            say(f"  {error}", err=True, fg="red")
    return field.get("default")
