"""Questions: what a server wants to know of the user before it gives a result, asked while the run pauses.

The rule: a server of the protocol of 2026-07-28 asks with a result, so nothing has to stay open while a person thinks.
What it asks and its opaque state are stored with the question, and whichever process takes the answer makes the call
again with both. Before that version a server asks within a call, which no process can hold open until somebody comes:
it is declined, with the reason, unless the toolset has an `elicitation_callback`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from newel.contexts.context import Context
from newel.mcp.definitions import Definition
from newel.mcp.errors import McpError, McpRefusedError
from newel.mcp.schemas import depth
from newel.mcp.texts import cleaned, one_line
from newel_kernel import Json

#: The result of a call that waits.
WAITS = "The server asks the user something: this call waits for the answer."
#: The most rounds of questions of one call.
MOST_ROUNDS = 10
_MOST_MESSAGE, _MOST_SCHEMA, _MOST_DEPTH, _MOST_FIELDS, _MOST_STATE, _MOST_URL = 2_000, 16_384, 6, 50, 65_536, 2_000
_KEY = "mcp"
#: What is kept of a field; a form has no nested objects.
_KEYWORDS = frozenset(
    (
        *("type", "title", "description", "enum", "enumNames", "const", "default", "minimum", "maximum", "minLength"),
        *("maxLength", "format", "oneOf", "anyOf", "items", "minItems", "maxItems"),
    )
)
_TYPES = frozenset(("string", "number", "integer", "boolean", "array"))
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
#: Words and pairs of words in the name or the title of a field that holds a secret.
_SECRETS = frozenset(
    (
        *("password", "passwort", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "token"),
        *("credential", "credentials", "pin", "otp", "cvv", "cvc", "apikey", "mnemonic"),
    )
)
_PAIRS = frozenset(
    (
        ("api", "key"),
        ("private", "key"),
        ("access", "key"),
        ("card", "number"),
        ("security", "code"),
        ("seed", "phrase"),
    )
)


class McpAsksError(McpError):
    """The server asks the user before it gives a result."""

    def __init__(self, message: str, asked: Asked) -> None:
        super().__init__(message)
        self.asked = asked


@dataclass(frozen=True, slots=True)
class Asked:
    """What a server wants to know for a call, all of it JSON: its requests by its own keys, and what it gets back."""

    requests: Json
    responses: Json = field(default_factory=dict)
    state: str | None = None
    rounds: int = 1

    @property
    def open(self) -> str | None:
        """The key of the first request that has no response."""
        return next((key for key in self.requests if key not in self.responses), None)

    @property
    def request(self) -> Json:
        """The first request that has no response."""
        found: Json = self.requests[self.open or ""]
        return found

    def with_response(self, response: Json) -> Asked:
        """The same, its first open request answered."""
        return Asked(self.requests, {**self.responses, self.open or "": response}, self.state, self.rounds)


def resumed(context: Context, definition: Definition) -> Asked | None:
    """What the call has asked for, with the user's answer, if it runs again; raises McpRefusedError if it must not."""
    kept = context.kept
    given = kept.get(_KEY) if isinstance(kept, Mapping) else None
    if not isinstance(given, Mapping):
        return None
    if given.get("digest") != definition.digest:
        raise McpRefusedError("the definition of this tool has changed since the user was asked, so it is not called")
    asked = Asked(given["requests"], given["responses"], given["state"], given["rounds"])
    if _is_url(asked.request):
        is_accepted = context.tool_confirmation is not None and context.tool_confirmation.confirmed
        return asked.with_response({"action": "accept" if is_accepted else "decline"})
    value = context.tool_input.value if context.tool_input is not None else None
    if not isinstance(value, Mapping):
        return asked.with_response({"action": "decline"})
    return asked.with_response({"action": "accept", "content": dict(value)})


def ask(context: Context, asked: Asked, server: str, definition: Definition) -> Json:
    """Ask the user what is open; the call's first result. Raises McpRefusedError if it must not be asked."""
    if not context.function_call_id:
        raise McpRefusedError(f"the MCP server {server} asks the user something, which only the call of a run can")
    if asked.rounds > MOST_ROUNDS:
        raise McpRefusedError(f"the MCP server {server} asks more than {MOST_ROUNDS} times before it gives a result")
    if asked.state is not None and len(asked.state) > _MOST_STATE:
        raise McpRefusedError(f"the MCP server {server} asks with a state of more than {_MOST_STATE} characters")
    request = asked.request
    kept = {"digest": definition.digest, "requests": asked.requests, "responses": asked.responses}
    if _is_url(request):
        hint, payload = page(request["params"], server)
        context.request_confirmation(hint=hint, payload=payload)
        context.actions.skip_summarization = True
    else:
        schema = form(request["params"].get("requestedSchema"), server)
        message = cleaned(str(request["params"].get("message") or ""), _MOST_MESSAGE).strip()
        context.request_input(f"The MCP server {server} asks: {message or 'an input'}", response_schema=schema)
    context.keep({_KEY: {**kept, "state": asked.state, "rounds": asked.rounds}})
    return {"error": WAITS}


def form(schema: object, server: str) -> Json:
    """The schema of a form's answer, or null, which declines; raises McpRefusedError if it must not be shown."""
    if not isinstance(schema, Mapping) or not isinstance(fields := schema.get("properties"), Mapping):
        raise McpRefusedError(f"the MCP server {server} asks with a form that has no fields")
    if depth(schema, _MOST_DEPTH) > _MOST_DEPTH or len(fields) > _MOST_FIELDS or len(json.dumps(schema)) > _MOST_SCHEMA:
        raise McpRefusedError(
            f"the MCP server {server} asks with a form beyond {_MOST_FIELDS} fields or {_MOST_SCHEMA} characters"
        )
    shown: Json = {}
    for name, one in fields.items():
        if not isinstance(one, Mapping) or one.get("type") not in _TYPES:
            raise McpRefusedError(
                f"the MCP server {server} asks with a field {one_line(str(name), 80)!r} of no plain type"
            )
        if asks_for_secret(name, one):
            raise McpRefusedError(
                f"the MCP server {server} asks for a secret in a form (the field {one_line(name, 80)!r}), which is "
                f"refused: a secret is given on a page of the server, or as the credential of the toolset"
            )
        shown[name] = {key: _cleaned(value) for key, value in one.items() if key in _KEYWORDS}
    required = [name for name in schema.get("required") or () if name in shown]
    return {"type": "object", "properties": shown, "required": required, "nullable": True}


def asks_for_secret(name: str, field: Mapping[str, Any]) -> bool:
    """Whether a field of a form is named, titled or formatted as one that takes a secret."""
    if field.get("type") == "boolean":
        return False
    if field.get("format") == "password" or field.get("writeOnly") is True:
        return True
    for text in (name, field.get("title")):
        words = [word.lower() for word in _WORDS.findall(str(text or ""))]
        if not _SECRETS.isdisjoint(words) or not _PAIRS.isdisjoint(pairwise(words)):
            return True
    return False


def _is_url(request: Mapping[str, Any]) -> bool:
    return (request.get("params") or {}).get("mode") == "url"


def page(params: Mapping[str, Any], server: str) -> tuple[str, Json]:
    """The question whether a page may be opened, with its host as it is looked up, and the address for the client."""
    url = str(params.get("url") or "")
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
        is_fit = parts.scheme in ("http", "https") and bool(host) and "@" not in parts.netloc and url.isprintable()
    except (ValueError, UnicodeError):
        is_fit, host = False, ""
    if not is_fit or len(url) > _MOST_URL or any(char.isspace() for char in url):
        raise McpRefusedError(
            f"the MCP server {server} asks to open {one_line(url, 100)!r}, which is not the address of a page"
        )
    message = one_line(str(params.get("message") or ""), _MOST_MESSAGE)
    hint = (
        f"The MCP server {server} asks you to open a page of {host}: {message} Nothing is opened for you. Go on only "
        f"if you trust {host}, and approve when you are done there. The address: {url}"
    )
    return hint, {"url": url, "host": host}


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return cleaned(value, _MOST_MESSAGE)
    if isinstance(value, Mapping):
        return {str(key): _cleaned(inner) for key, inner in value.items()}
    return [_cleaned(inner) for inner in value] if isinstance(value, list) else value
