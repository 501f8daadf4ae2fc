"""What Anthropic's Messages API refuses.

From the API reference ("Messages", "Errors"), the guides ("Tool use", "Extended thinking", "Adaptive thinking",
"Prompt caching", "Structured outputs", "Vision", "PDF support") and the request types of the SDK. Two rules are
stricter than the service is known to be: a thought must fit its signature, the first message must be the user's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from newel_kernel import Json
from newel_testkit.wire.anthropic_messages import check_messages
from newel_testkit.wire.schemas import RefusedError, check_strict_anthropic, check_valid
from newel_testkit.wire.searches import check_claude_searches

_KEYS = {
    "max_tokens",
    "messages",
    "model",
    "cache_control",
    "container",
    "diagnostics",
    "inference_geo",
    "metadata",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "thinking",
    "tool_choice",
    "tools",
    "temperature",
    "top_p",
    "top_k",
    "context_management",
    "mcp_servers",
    "user_profile_id",
    "workspace_id",
}
_TOOL_KEYS = {
    "name",
    "description",
    "input_schema",
    "type",
    "cache_control",
    "strict",
    "defer_loading",
    "allowed_callers",
    "input_examples",
    "eager_input_streaming",
}
#: The output format of the service's beta; with the beta's header the service still accepts it.
_BETA_FORMAT = "output_format"
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_VERSION = re.compile(r"claude-(?:opus|sonnet|haiku|fable|mythos)-(\d+)(?:-(\d{1,2}))?(?:$|[-@])")
_EFFORTS = (None, "low", "medium", "high", "xhigh", "max")


def is_modern(model: str) -> bool:
    """Whether the model refuses sampling parameters, an answer begun for it, and a thinking budget (from 4.7 on)."""
    match = _VERSION.match(model)
    return match is not None and (int(match[1]), int(match[2] or 0)) >= (4, 7)


def check(body: Any, headers: Mapping[str, str], issued: Mapping[str, list[Json]]) -> None:
    """Raise a RefusedError if the service would answer 400. `issued`: the thoughts that came with each call."""
    if not (headers.get("x-api-key") or headers.get("authorization")):
        raise RefusedError("authentication_error: x-api-key header is required")
    if not headers.get("anthropic-version"):
        raise RefusedError("anthropic-version: header is required")
    if not isinstance(body, dict):
        raise RefusedError("body must be an object")
    beta = "structured-outputs" in headers.get("anthropic-beta", "")
    for key in body:
        if key not in _KEYS and not (beta and key == _BETA_FORMAT):
            raise RefusedError(f"{key}: Extra inputs are not permitted")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise RefusedError("model: Field required")
    if type(body.get("max_tokens")) is not int or body["max_tokens"] < 0:
        raise RefusedError("max_tokens: Field required, an integer")
    _check_sampling(body)
    _check_thinking(body)
    _check_system(body.get("system"))
    names = _check_tools(body)
    _check_choice(body, names)
    check_messages(body, names, issued, modern=is_modern(body["model"]))
    check_claude_searches(body)
    _check_output(body.get("output_config") or ({"format": body[_BETA_FORMAT]} if body.get(_BETA_FORMAT) else {}))
    _check_marks(body)
    for stop in body.get("stop_sequences") or ():
        if not isinstance(stop, str) or not stop.strip():
            raise RefusedError("stop_sequences: each stop sequence must contain non-whitespace")


def _check_sampling(body: Json) -> None:
    model = body["model"]
    for key in ("temperature", "top_p"):
        if key in body and (not isinstance(body[key], (int, float)) or not 0 <= body[key] <= 1):
            raise RefusedError(f"{key}: range: 0..1")
    if "top_k" in body and not isinstance(body["top_k"], int):
        raise RefusedError("top_k: Input should be a valid integer")
    keys = [key for key in ("temperature", "top_p", "top_k") if body.get(key) is not None]
    if is_modern(model) and keys:
        raise RefusedError(f"`{keys[0]}` is not supported for this model")
    if keys[:2] == ["temperature", "top_p"] and re.search(r"(opus-4-1|-4-5|-4-6)", model):
        raise RefusedError("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")


def _check_thinking(body: Json) -> None:
    thinking, model = body.get("thinking"), body["model"]
    if thinking is None:
        return
    kind = thinking.get("type")
    if kind not in ("enabled", "disabled", "adaptive"):
        raise RefusedError(f"thinking.type: {kind!r}")
    if kind == "enabled":
        if is_modern(model):
            raise RefusedError("thinking.type: 'enabled' is not supported for this model, use 'adaptive'")
        budget = thinking.get("budget_tokens")
        if type(budget) is not int or budget < 1024:
            raise RefusedError("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        if budget >= body["max_tokens"]:
            raise RefusedError("`max_tokens` must be greater than `thinking.budget_tokens`")
    elif "budget_tokens" in thinking:
        raise RefusedError(f"thinking.{kind}.budget_tokens: Extra inputs are not permitted")
    if kind == "adaptive" and not (is_modern(model) or "-4-6" in model):
        raise RefusedError("thinking.type: 'adaptive' is not supported for this model")
    if kind != "disabled":
        _check_beside_thinking(body)


def _check_beside_thinking(body: Json) -> None:
    """ "Extended thinking", "Feature compatibility"."""
    if body.get("temperature") not in (None, 1):
        raise RefusedError("`temperature` may only be set to 1 when thinking is enabled")
    if body.get("top_k") is not None:
        raise RefusedError("`top_k` must be unset when thinking is enabled")
    if body.get("top_p") is not None and body["top_p"] < 0.95:
        raise RefusedError("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled")
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        raise RefusedError("Thinking may not be enabled when tool_choice forces tool use.")


def _check_system(system: Any) -> None:
    if system is None or isinstance(system, str):
        return
    for block in system:
        if block.get("type") != "text" or not str(block.get("text") or "").strip():
            raise RefusedError("system: only text blocks with non-whitespace text")


def _check_tools(body: Json) -> list[str]:
    names = []
    for index, tool in enumerate(body.get("tools") or ()):
        names.append(tool.get("name"))
        if tool.get("type") in (None, "custom"):
            _check_tool(tool, f"tools.{index}.custom")
    if len(set(names)) != len(names):
        raise RefusedError("tools: Tool names must be unique.")
    return names


def _check_tool(tool: Json, where: str) -> None:
    for key in tool:
        if key not in _TOOL_KEYS:
            raise RefusedError(f"{where}.{key}: Extra inputs are not permitted")
    if not _NAME.fullmatch(tool.get("name") or ""):
        raise RefusedError(f"{where}.name: String should match pattern '{_NAME.pattern}', got {tool.get('name')!r}")
    if not isinstance(tool.get("description", ""), str):
        raise RefusedError(f"{where}.description: Input should be a valid string")
    schema = tool.get("input_schema")
    check_valid(schema, f"{where}.input_schema")
    assert isinstance(schema, dict)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            raise RefusedError(f"{where}.input_schema: does not support oneOf, allOf, or anyOf at the top level")
    for name in schema.get("properties") or {}:
        if not _PROPERTY.fullmatch(name):
            raise RefusedError(f"{where}.input_schema.properties: keys should match {_PROPERTY.pattern}, got {name!r}")


def _check_choice(body: Json, names: list[str]) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not names:
        raise RefusedError("tool_choice: may only be specified while providing tools")
    if choice.get("type") not in ("auto", "any", "tool", "none"):
        raise RefusedError(f"tool_choice.type: {choice.get('type')!r}")
    if choice["type"] == "tool" and choice.get("name") not in names:
        raise RefusedError(f"tool_choice: tool {choice.get('name')!r} not found in provided tools")


def _check_output(config: Json) -> None:
    if set(config) - {"effort", "format"}:
        raise RefusedError("output_config: Extra inputs are not permitted")
    if config.get("effort") not in _EFFORTS:
        raise RefusedError(f"output_config.effort: {config['effort']!r}")
    shape = config.get("format")
    if shape is None:
        return
    if shape.get("type") != "json_schema" or set(shape) - {"type", "schema"}:
        raise RefusedError("output_config.format: {type: json_schema, schema} only")
    check_valid(shape.get("schema"), "output_config.format.schema", top_object=False)
    check_strict_anthropic(shape["schema"], "output_config.format.schema")


def _check_marks(body: Json) -> None:
    """ "Prompt caching": at most four breakpoints, a longer lifetime first."""
    system = body.get("system")
    marks = [item.get("cache_control") for item in (*(body.get("tools") or ()), *_listed(system))]
    for message in body["messages"]:
        for block in _listed(message["content"]):
            marks += [
                block.get("cache_control"),
                *(inner.get("cache_control") for inner in _listed(block.get("content"))),
            ]
    marks = [mark for mark in [*marks, body.get("cache_control")] if mark]
    for mark in marks:
        if mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in ("5m", "1h"):
            raise RefusedError(f"cache_control: {mark}")
    if len(marks) > 4:
        raise RefusedError(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    lives = [mark.get("ttl", "5m") for mark in marks]
    if lives != sorted(lives):  # "1h" sorts before "5m"
        raise RefusedError("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")


def _listed(value: Any) -> list[Json]:
    return value if isinstance(value, list) else []
