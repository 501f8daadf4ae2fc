"""OpenAI Responses: what it refuses.

Rules from the API reference ("Create a model response") and the guides "Reasoning models" ("Keeping reasoning items in
context") and "Conversation state".
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

from newel_kernel import Json
from newel_testkit.wire.http import Logged
from newel_testkit.wire.openai_rules import (
    check_called,
    check_file,
    check_function,
    check_image,
    check_names,
    check_schema,
    checked_body,
    mentions_json,
    reasons,
)
from newel_testkit.wire.schemas import RefusedError
from newel_testkit.wire.searches import check_responses_searches

_KEYS = frozenset(
    (
        "background",
        "conversation",
        "include",
        "input",
        "instructions",
        "max_output_tokens",
        "max_tool_calls",
        "metadata",
        "model",
        "parallel_tool_calls",
        "previous_response_id",
        "prompt",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning",
        "safety_identifier",
        "service_tier",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "truncation",
        "user",
    )
)
_LEAST_OUTPUT = 16
_ID_LENGTH = 64
_PROOF = b"openai-encrypted:"
_USER_PARTS = {"input_text", "input_image", "input_file"}


@dataclass(slots=True)
class Memory:
    """What the service keeps: the waiting calls of each stored response, and the thought before each call."""

    stored: dict[str, set[str]] = field(default_factory=dict)
    thoughts: dict[str, str] = field(default_factory=dict)


def check(request: Logged, memory: Memory) -> None:
    """Refuse a request as the service would."""
    body = checked_body(request, _KEYS)
    _check_tools(body)
    _check_parameters(body)
    _check_format(body)
    _check_input(body, memory)
    check_responses_searches(body)


def _check_tools(body: Json) -> None:
    names: list[str] = []
    for index, tool in enumerate(body.get("tools") or ()):
        if tool.get("type") == "tool_search":
            continue
        if extra := set(tool) - {"type", "name", "description", "parameters", "strict", "defer_loading"}:
            raise RefusedError(f"Unknown parameter: 'tools[{index}].{sorted(extra)[0]}'.")
        strict = tool.get("strict") is not False and tool.get("parameters") is not None
        names.append(check_function(tool, f"tools[{index}]", strict=strict))
    choice = body.get("tool_choice")
    if choice not in (None, "auto", "none") and not names:
        raise RefusedError("Tool choice is only allowed when tools are specified")
    check_names(names, choice.get("name") if isinstance(choice, dict) else None)


def _check_parameters(body: Json) -> None:
    if body.get("max_output_tokens", _LEAST_OUTPUT) < _LEAST_OUTPUT:
        raise RefusedError("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16")
    if reasons(body["model"]):
        for key in ("temperature", "top_p", "top_logprobs"):
            if body.get(key) not in (None, 1):
                raise RefusedError(f"Unsupported parameter: {key!r} is not supported with this model.")
        return
    if body.get("reasoning"):
        raise RefusedError("Unsupported parameter: 'reasoning.effort' is not supported with this model.")
    if "reasoning.encrypted_content" in (body.get("include") or ()):
        raise RefusedError("Encrypted content is not supported with this model.")


def _check_format(body: Json) -> None:
    shape = (body.get("text") or {}).get("format")
    if shape is None:
        return
    if shape["type"] == "json_schema":
        rest = {key: value for key, value in shape.items() if key != "type"}
        check_schema(rest, "text.format", {"name", "description", "schema", "strict"})
    elif not mentions_json(body.get("input"), body.get("instructions")):
        raise RefusedError("Response input messages must contain the word 'json' in some form")


def _check_input(body: Json, memory: Memory) -> None:
    items, previous = body.get("input"), body.get("previous_response_id")
    if previous is not None and previous not in memory.stored:
        raise RefusedError(f"Previous response with id {previous!r} not found.")
    if not isinstance(items, list) or not items:
        raise RefusedError("Missing required parameter: 'input'.")
    open_calls = set(memory.stored.get(str(previous), ()))
    for index, item in enumerate(items):
        where = f"input[{index}]"
        kind = item.get("type", "message")
        if kind == "message":
            _check_message(item, where)
        elif kind == "function_call":
            _check_call(item, items[:index], open_calls, memory, where)
        elif kind == "function_call_output":
            _check_output(item, open_calls, where)
        elif kind == "reasoning":
            _check_thought(item, items[index + 1 :], bool(body.get("store", True)), where)
        elif kind not in ("tool_search_call", "tool_search_output"):
            raise RefusedError(f"Invalid value: {kind!r} for '{where}.type'")
    if open_calls:
        raise RefusedError(f"No tool output found for function call {sorted(open_calls)[0]}.")


def _check_message(item: Json, where: str) -> None:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        raise RefusedError(f"Invalid value: {role!r} for '{where}.role'")
    if isinstance(content, list):
        _check_parts(content, {"output_text", "refusal"} if role == "assistant" else _USER_PARTS, f"{where}.content")
    elif not isinstance(content, str):
        raise RefusedError(f"Invalid type for '{where}.content'")


def _check_call(item: Json, before: list[Json], open_calls: set[str], memory: Memory, where: str) -> None:
    call_id = item.get("call_id")
    if not call_id or len(call_id) > _ID_LENGTH:
        raise RefusedError(f"Invalid '{where}.call_id': empty or longer than {_ID_LENGTH}: {call_id!r}")
    check_called(item.get("name"), where)
    if not isinstance(item.get("arguments"), str):
        raise RefusedError(f"Invalid type for '{where}.arguments'")
    if item.get("id") and not item["id"].startswith("fc"):
        raise RefusedError(f"Invalid '{where}.id': {item['id']!r}. Expected an ID that begins with 'fc'.")
    needed = memory.thoughts.get(str(item.get("id")))
    if needed and needed not in [one.get("id") for one in before]:
        raise RefusedError(f"Item {item['id']!r} was provided without its required 'reasoning' item: {needed!r}.")
    if call_id in open_calls:
        raise RefusedError(f"Duplicate function call {call_id}")
    open_calls.add(call_id)


def _check_output(item: Json, open_calls: set[str], where: str) -> None:
    if item.get("call_id") not in open_calls:
        raise RefusedError(f"No tool call found for function call output with call_id {item.get('call_id')}.")
    open_calls.remove(item["call_id"])
    output = item.get("output")
    if isinstance(output, list):
        _check_parts(output, _USER_PARTS, f"{where}.output")
    elif not isinstance(output, str):
        raise RefusedError(f"Invalid type for '{where}.output': expected a string or an array")


def _check_thought(item: Json, after: list[Json], store: bool, where: str) -> None:
    if not isinstance(item.get("summary"), list):
        raise RefusedError(f"Missing required parameter: '{where}.summary'.")
    if not str(item.get("id", "")).startswith("rs"):
        raise RefusedError(f"Invalid '{where}.id': expected an ID that begins with 'rs'.")
    proof = item.get("encrypted_content")
    if not store and not proof:
        raise RefusedError(f"Item with id {item['id']!r} not found. Items are not persisted when `store` is false.")
    if proof and not _is_issued(proof):
        raise RefusedError(f"The encrypted content for item {item['id']} could not be verified.")
    follows = after[0] if after else {}
    if (
        follows.get("type") not in ("function_call", "reasoning", "tool_search_call")
        and follows.get("role") != "assistant"
    ):
        raise RefusedError(f"Item {item['id']!r} of type 'reasoning' was provided without its required following item.")


def _is_issued(value: str) -> bool:
    try:
        return base64.b64decode(value, validate=True).startswith(_PROOF)
    except ValueError:
        return False


def _check_parts(parts: list[Json], allowed: set[str], where: str) -> None:
    for part in parts:
        kind = part.get("type")
        if kind not in allowed:
            raise RefusedError(f"Invalid value: {kind!r} for '{where}.type'. Supported values are: {sorted(allowed)}")
        if kind == "input_image" and not part.get("file_id"):
            check_image(part.get("image_url"), where)
        if kind == "input_file" and part.get("file_data"):
            check_file(part, where)
        elif kind == "input_file" and not (part.get("file_url") or part.get("file_id")):
            raise RefusedError(f"Missing file in '{where}'")
