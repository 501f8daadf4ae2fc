"""What Anthropic's Messages API refuses of the messages of a request."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Any

from newel_kernel import Json
from newel_testkit.wire.schemas import RefusedError

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_IMAGES = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8", "image/gif": b"GIF8", "image/webp": b"RIFF"}
_OF = {
    "user": {"text", "image", "document", "tool_result", "search_result", "container_upload"},
    "assistant": {
        "text",
        "thinking",
        "redacted_thinking",
        "tool_use",
        "server_tool_use",
        "web_search_tool_result",
        "code_execution_tool_result",
        "tool_search_tool_result",
    },
}
_FIELDS = {
    "text": {"text", "citations"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
    "image": {"source"},
    "document": {"source", "title", "context", "citations"},
    "tool_use": {"id", "name", "input", "caller", "toolset_name"},
    "tool_result": {"tool_use_id", "content", "is_error", "toolset_name"},
}
_THOUGHTS = ("thinking", "redacted_thinking")
Turn = tuple[str, list[Json]]


def check_messages(body: Json, names: list[str], issued: Mapping[str, list[Json]], *, modern: bool) -> None:
    """Raise a RefusedError if the service would not accept the messages."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RefusedError("messages: at least one message is required")
    turns: list[Turn] = []  # messages of one role that follow each other are one turn
    for index, message in enumerate(messages):
        role, blocks = _message(message, f"messages.{index}", is_last=index == len(messages) - 1)
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, list(blocks)))
    if turns[0][0] != "user":
        raise RefusedError('messages: first message must use the "user" role')
    _check_pairs(turns)
    if not names and any(block["type"] in ("tool_use", "tool_result") for _, blocks in turns for block in blocks):
        raise RefusedError("Requests which include `tool_use` or `tool_result` blocks must define tools")
    _check_end(body, turns, issued, modern)


def _message(message: Json, where: str, *, is_last: bool) -> Turn:
    if set(message) - {"role", "content"}:
        raise RefusedError(f"{where}.{sorted(set(message) - {'role', 'content'})[0]}: Extra inputs are not permitted")
    role, content = message.get("role"), message.get("content")
    if role not in _OF:
        raise RefusedError(f"{where}.role: {role!r}; use the top-level `system` parameter for the system prompt")
    if content in ("", [], None) and not (role == "assistant" and is_last):
        raise RefusedError(f"{where}: all messages must have non-empty content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    for number, block in enumerate(blocks):
        _check_block(block, role, f"{where}.content.{number}")
    if role == "assistant" and blocks and blocks[-1]["type"] in _THOUGHTS:
        raise RefusedError(f"{where}: The final block in an assistant message cannot be `{blocks[-1]['type']}`.")
    return role, blocks


def _check_end(body: Json, turns: list[Turn], issued: Mapping[str, list[Json]], modern: bool) -> None:
    thinking = (body.get("thinking") or {}).get("type")
    thinks = thinking in ("enabled", "adaptive")
    role, blocks = turns[-1]
    if role == "assistant":
        if modern or thinks:
            raise RefusedError("This model does not support assistant message prefill.")
        if blocks and blocks[-1]["type"] == "text" and blocks[-1]["text"] != blocks[-1]["text"].rstrip():
            raise RefusedError("messages: final assistant content cannot end with trailing whitespace")
        return
    if not thinks or not any(block["type"] == "tool_result" for block in blocks):
        return
    before = turns[-2][1]
    if thinking == "enabled" and before[0]["type"] not in _THOUGHTS:
        raise RefusedError(f"messages: Expected `thinking` or `redacted_thinking`, but found `{before[0]['type']}`.")
    gave = issued.get(next((block["id"] for block in before if block["type"] == "tool_use"), ""))
    sent = [block for block in before if block["type"] in _THOUGHTS]
    if gave is not None and [_bare(block) for block in sent] != [_bare(block) for block in gave]:
        raise RefusedError("`thinking` blocks in the latest assistant message cannot be modified")


def _bare(block: Json) -> Json:
    return {key: value for key, value in block.items() if key in ("type", "thinking", "signature", "data")}


def _check_block(block: Any, role: str, where: str) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in _OF[role]:
        raise RefusedError(f"{where}.type: {kind!r} is not permitted in a message of the role {role}")
    if kind in _FIELDS and (extra := set(block) - _FIELDS[kind] - {"type", "cache_control"}):
        raise RefusedError(f"{where}.{kind}.{sorted(extra)[0]}: Extra inputs are not permitted")
    checks = {
        "text": _check_text,
        "image": _check_media,
        "document": _check_media,
        "thinking": _check_thought,
        "redacted_thinking": _check_redacted,
        "tool_use": _check_use,
        "tool_result": _check_result,
    }
    if kind in checks:
        checks[kind](block, where)


def _check_text(block: Json, where: str) -> None:
    if not isinstance(block.get("text"), str) or not block["text"].strip():
        raise RefusedError(f"{where}: text content blocks must contain non-whitespace text")


def _check_thought(block: Json, where: str) -> None:
    digest = hashlib.sha256(str(block.get("thinking")).encode()).digest()[:18]
    if block.get("signature") != base64.b64encode(b"anthropic-sig:" + digest).decode():
        raise RefusedError(f"{where}: Invalid `signature` in `thinking` block")
    if "cache_control" in block:
        raise RefusedError(f"{where}.cache_control: thinking blocks cannot be marked")


def _check_redacted(block: Json, where: str) -> None:
    if not _decoded(block, where).startswith(b"anthropic-redacted:"):
        raise RefusedError(f"{where}: Invalid `data` in `redacted_thinking` block")


def _check_use(block: Json, where: str) -> None:
    if not _ID.fullmatch(block.get("id") or ""):
        raise RefusedError(f"{where}.tool_use.id: String should match pattern '{_ID.pattern}', got {block.get('id')!r}")
    if not _NAME.fullmatch(block.get("name") or ""):
        raise RefusedError(f"{where}.tool_use.name: String should match pattern, got {block.get('name')!r}")
    if not isinstance(block.get("input"), dict):
        raise RefusedError(f"{where}.tool_use.input: Input should be a valid dictionary")


def _check_result(block: Json, where: str) -> None:
    if not _ID.fullmatch(block.get("tool_use_id") or ""):
        raise RefusedError(f"{where}.tool_result.tool_use_id: String should match pattern")
    inner = block.get("content")
    if inner is not None and not isinstance(inner, (str, list)):
        raise RefusedError(f"{where}.tool_result.content: Input should be a string or a list")
    for number, part in enumerate(inner if isinstance(inner, list) else ()):
        if part.get("type") not in ("text", "image", "document", "search_result", "tool_reference"):
            raise RefusedError(f"{where}.content.{number}.type: {part.get('type')!r}")
        if block.get("is_error") and part["type"] != "text":
            raise RefusedError(f"{where}: all content must be type `text` if `is_error` is true")
        _check_block(part, "user", f"{where}.content.{number}")


def _check_media(block: Json, where: str) -> None:
    source = block.get("source") or {}
    kind = source.get("type")
    if kind == "url":
        if not str(source.get("url", "")).startswith("https://"):
            raise RefusedError(f"{where}.source.url: only HTTPS URLs are supported")
    elif kind == "base64":
        _check_bytes(block["type"], source, where)
    elif block["type"] == "document" and kind == "text":
        if source.get("media_type") != "text/plain" or not source.get("data"):
            raise RefusedError(f"{where}.source: a text document must be text/plain and not empty")
    elif kind != "file":
        raise RefusedError(f"{where}.source.type: {kind!r}")


def _check_bytes(kind: str, source: Json, where: str) -> None:
    data, mime = _decoded(source, where), str(source.get("media_type"))
    if kind == "document" and not (mime == "application/pdf" and data.startswith(b"%PDF")):
        raise RefusedError(f"{where}.source: a base64 document must be a PDF")
    if kind == "image" and mime not in _IMAGES:
        raise RefusedError(f"{where}.source.media_type: Input should be image/jpeg, png, gif or webp, got {mime!r}")
    if kind == "image" and not data.startswith(_IMAGES[mime]):
        raise RefusedError(f"{where}: the image does not match the provided media type {mime}")


def _decoded(source: Json, where: str) -> bytes:
    try:
        return base64.b64decode(source["data"], validate=True)
    except (ValueError, KeyError, TypeError) as error:
        raise RefusedError(f"{where}.data: invalid base64") from error


def _check_pairs(turns: list[Turn]) -> None:
    """ "Handle tool calls": results come first in the very next user message, one for each call."""
    seen: set[str] = set()
    for index, (role, blocks) in enumerate(turns):
        following = turns[index + 1][1] if index + 1 < len(turns) else []
        if role == "assistant":
            _check_uses([block["id"] for block in blocks if block["type"] == "tool_use"], following, seen, index)
            continue
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        before = {block["id"] for block in turns[index - 1][1] if block["type"] == "tool_use"} if index else set()
        if orphans := [one for one in results if one not in before]:
            raise RefusedError(
                f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {orphans[0]}"
            )
        if len(set(results)) != len(results):
            raise RefusedError(f"messages.{index}: each tool_use must have a single result")
        kinds = [block["type"] == "tool_result" for block in blocks]
        if results and kinds != sorted(kinds, reverse=True):
            raise RefusedError(f"messages.{index}: tool_result blocks must come first in the user message")


def _check_uses(uses: list[str], following: list[Json], seen: set[str], index: int) -> None:
    if len(set(uses)) != len(uses) or seen & set(uses):
        raise RefusedError("messages: `tool_use` ids must be unique")
    seen |= set(uses)
    answered = [block["tool_use_id"] for block in following if block["type"] == "tool_result"]
    if missing := [use for use in uses if use not in answered]:
        raise RefusedError(f"messages.{index}: `tool_use` ids without `tool_result` blocks: {', '.join(missing)}")
