"""OpenAI Chat Completions: what it refuses. Rules from the API reference, "Create chat completion"."""

from __future__ import annotations

import re

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
    decoded,
    mentions_json,
    reasons,
)
from newel_testkit.wire.schemas import RefusedError

_KEYS = frozenset(
    (
        "messages",
        "model",
        "audio",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "modalities",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
        "web_search_options",
    )
)
#: Further fields that other servers of the protocol accept.
_FURTHER = frozenset(
    (
        "top_k",
        "min_p",
        "repetition_penalty",
        "chat_template_kwargs",
        "reasoning",
        "include_reasoning",
        "options",
        "think",
        "provider",
    )
)
_ROLES = ("developer", "system", "user", "assistant", "tool")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
_HAS_BREAKPOINTS = re.compile(r"gpt-(5\.([6-9]|\d\d)|[6-9]|\d\d)")
_MOST_STOPS = 4
_ID_LENGTH = 40


def check(request: Logged, *, further: bool) -> None:
    """Refuse a request as the service would; `further`: also accept what other servers accept."""
    body = checked_body(request, _KEYS | _FURTHER if further else _KEYS)
    _check_tools(body)
    _check_messages(body.get("messages"))
    _check_format(body)
    _check_parameters(body)
    if not further:
        _check_model(body)


def _check_tools(body: Json) -> None:
    tools, choice = body.get("tools"), body.get("tool_choice")
    if tools is None:
        if choice is not None or body.get("parallel_tool_calls") is not None:
            raise RefusedError("tool_choice and parallel_tool_calls are only allowed when 'tools' are specified.")
        return
    if not isinstance(tools, list) or not tools:
        raise RefusedError("[] is too short - 'tools'")
    names: list[str] = []
    for index, tool in enumerate(tools):
        function = tool["function"]
        if extra := set(function) - {"name", "description", "parameters", "strict"}:
            raise RefusedError(f"Unknown parameter: 'tools[{index}].function.{sorted(extra)[0]}'")
        names.append(check_function(function, f"tools[{index}].function", strict=function.get("strict") is True))
    if isinstance(choice, str) and choice not in ("none", "auto", "required"):
        raise RefusedError(f"Invalid value: {choice!r} for 'tool_choice'")
    called = choice.get("function") if isinstance(choice, dict) else None
    check_names(names, called["name"] if called else None)


def _check_messages(messages: object) -> None:
    if not isinstance(messages, list) or not messages:
        raise RefusedError("[] is too short - 'messages'")
    waiting: list[str] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        role = message.get("role")
        if role not in _ROLES:
            raise RefusedError(f"Invalid value: {role!r} for '{where}.role'")
        if role == "tool":
            _check_result(message, waiting, where)
            continue
        if waiting:
            raise RefusedError(f"tool_call_ids did not have response messages: {', '.join(waiting)}")
        if role == "assistant":
            waiting = _check_assistant(message, where)
        else:
            _check_content(message.get("content"), role, where)
    if waiting:
        raise RefusedError(f"tool_call_ids did not have response messages: {', '.join(waiting)}")


def _check_result(message: Json, waiting: list[str], where: str) -> None:
    call_id = message.get("tool_call_id")
    if call_id not in waiting:
        raise RefusedError(f"{where}: tool_call_id {call_id!r} not found in 'tool_calls' of previous message")
    waiting.remove(call_id)
    content = message.get("content")
    if content is None:
        raise RefusedError(f"Invalid value for 'content': expected a string, got null. ({where})")
    if isinstance(content, list):
        _check_parts(content, {"text"}, where)


def _check_assistant(message: Json, where: str) -> list[str]:
    """The ids of its calls."""
    calls, content = message.get("tool_calls"), message.get("content")
    if calls == []:
        raise RefusedError(f"Invalid '{where}.tool_calls': empty array.")
    if content is None and not calls and not message.get("refusal"):
        raise RefusedError(f"Invalid value for 'content': expected a string, got null. ({where})")
    if isinstance(content, list):
        _check_parts(content, {"text", "refusal"}, where)
    ids: list[str] = []
    for call in calls or ():
        call_id = call.get("id")
        if not call_id or len(call_id) > _ID_LENGTH:
            raise RefusedError(f"Invalid '{where}.tool_calls.id': too long or empty, got {call_id!r}")
        check_called(call["function"].get("name"), f"{where}.tool_calls.function")
        if call.get("type") != "function" or not isinstance(call["function"].get("arguments"), str):
            raise RefusedError(f"Invalid type for '{where}.tool_calls'")
        ids.append(call_id)
    if len(set(ids)) != len(ids):
        raise RefusedError(f"Duplicate value for 'tool_call_id' in {where}")
    return ids


def _check_content(content: object, role: str, where: str) -> None:
    if isinstance(content, list) and content:
        _check_parts(content, {"text", "image_url", "input_audio", "file"} if role == "user" else {"text"}, where)
    elif not isinstance(content, str):
        raise RefusedError(f"Invalid value for 'content': expected a string, got {content!r}. ({where})")


def _check_parts(parts: list[Json], allowed: set[str], where: str) -> None:
    for part in parts:
        kind = part.get("type")
        if kind not in allowed:
            raise RefusedError(f"Invalid value: {kind!r} for '{where}.content.type'")
        if "prompt_cache_breakpoint" in part and (part["prompt_cache_breakpoint"] or {}).get("mode") != "explicit":
            raise RefusedError(f"Invalid value for '{where}.content.prompt_cache_breakpoint.mode'")
        if kind == "text" and not isinstance(part.get("text"), str):
            raise RefusedError(f"Missing required parameter: '{where}.content.text'")
        if kind == "image_url":
            check_image(part["image_url"].get("url"), where)
        if kind == "input_audio":
            if part["input_audio"].get("format") not in ("wav", "mp3"):
                raise RefusedError(f"Invalid value for '{where}.content.input_audio.format'")
            decoded(part["input_audio"].get("data"), where)
        if kind == "file" and not part["file"].get("file_id"):
            check_file(part["file"], f"{where}.content.file")


def _check_format(body: Json) -> None:
    shape = body.get("response_format")
    if shape is None:
        return
    if shape.get("type") == "json_object":
        if not mentions_json(body["messages"]):
            raise RefusedError("'messages' must contain the word 'json' in some form")
    elif shape.get("type") == "json_schema":
        check_schema(
            shape.get("json_schema") or {}, "response_format.json_schema", {"name", "description", "schema", "strict"}
        )


def _check_parameters(body: Json) -> None:
    _check_caching(body)
    if body.get("stream_options") is not None and not body.get("stream"):
        raise RefusedError("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    if body.get("top_logprobs") is not None and not body.get("logprobs"):
        raise RefusedError("The 'logprobs' parameter must be true when 'top_logprobs' is used.")
    if isinstance(body.get("stop"), list) and len(body["stop"]) > _MOST_STOPS:
        raise RefusedError("Invalid 'stop': array too long.")
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        raise RefusedError("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    if body.get("reasoning_effort") not in (None, *_EFFORTS):
        raise RefusedError(f"Invalid value: {body['reasoning_effort']!r} for 'reasoning_effort'")


def _check_caching(body: Json) -> None:
    options = body.get("prompt_cache_options") or {}
    if options.get("mode", "implicit") not in ("implicit", "explicit") or set(options) - {"mode", "ttl"}:
        raise RefusedError("Invalid value for 'prompt_cache_options'")
    if (options or "prompt_cache_breakpoint" in str(body["messages"])) and not _HAS_BREAKPOINTS.match(body["model"]):
        raise RefusedError(f"Prompt cache breakpoints are not supported with {body['model']!r}.")


def _check_model(body: Json) -> None:
    if not reasons(body["model"]):
        if body.get("reasoning_effort") not in (None, "none"):
            raise RefusedError("Unrecognized request argument supplied: reasoning_effort")
        return
    for key in ("max_tokens", "logprobs", "stop", "logit_bias"):
        if body.get(key):
            raise RefusedError(f"Unsupported parameter: {key!r} is not supported with this model.")
    for key, only in (("temperature", 1), ("top_p", 1), ("presence_penalty", 0), ("frequency_penalty", 0)):
        if body.get(key) not in (None, only):
            raise RefusedError(f"Unsupported value: {key!r} does not support {body[key]} with this model.")
