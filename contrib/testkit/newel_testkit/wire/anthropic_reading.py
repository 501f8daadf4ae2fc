"""Anthropic Messages: what a request says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from newel_kernel import Json
from newel_testkit.wire.facts import facts_of
from newel_testkit.wire.reading import Declared, Item, Reading, mark_of, settings_of

_SETTINGS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_output_tokens": "max_tokens",
    "stop_sequences": "stop_sequences",
}
_CHOICES = {"auto": "auto", "any": "any", "none": "none"}
_THINKING = {"adaptive": "dynamic", "disabled": "off"}


def reading(body: Json) -> Reading:
    """What `body` says."""
    system = _blocks(body.get("system") or [])
    result = Reading(system="\n".join(block["text"] for block in system), settings=settings_of(body, _SETTINGS))
    marked = [*system, *(body.get("tools") or ())]
    for message in body["messages"]:
        blocks = _blocks(message["content"])
        marked += blocks
        role: Literal["model", "user"] = "model" if message["role"] == "assistant" else "user"
        result.items += [item for block in blocks for item in _items(block, role)]
    result.cached = any(one.get("cache_control") for one in [body, *marked])
    for tool in body.get("tools") or ():
        if "input_schema" in tool:
            result.tools[tool["name"]] = Declared(tool.get("description") or "", facts_of(tool["input_schema"]))
    choice = body.get("tool_choice") or {}
    result.choice = f"tool:{choice['name']}" if choice.get("type") == "tool" else _CHOICES.get(choice.get("type", ""))
    _read_output(result, body, choice)
    return result


def _read_output(result: Reading, body: Json, choice: Json) -> None:
    config, thinking = body.get("output_config") or {}, body.get("thinking") or {}
    shape = config.get("format") or body.get("output_format")
    if shape is not None:
        result.schema = facts_of(shape["schema"])
    elif choice.get("type") == "tool" or len(result.tools) == 1:  # the older way: a tool that must be called
        tool = result.tools.get(choice.get("name") or next(iter(result.tools)))
        result.schema = tool.facts if tool else None
    kind = thinking.get("type")
    result.thinking = f"budget:{thinking['budget_tokens']}" if kind == "enabled" else _THINKING.get(str(kind))
    result.effort = config.get("effort")


def _blocks(content: object) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)  # type: ignore[call-overload]


def _items(block: Json, role: Literal["model", "user"]) -> Iterator[Item]:
    kind = block["type"]
    if kind == "text":
        yield Item(role=role, kind="text", text=block["text"])
    elif kind == "thinking":
        yield Item(role=role, kind="thought", text=block["thinking"], signature=block["signature"])
    elif kind == "redacted_thinking":
        yield Item(role=role, kind="redacted", text=block["data"])
    elif kind in ("image", "document"):
        yield Item(role=role, kind="media", text=_media(block))
    elif kind == "tool_use":
        yield Item(role=role, kind="call", id=block["id"], name=block["name"], args=block["input"])
    elif kind == "tool_result":
        parts = _blocks(block.get("content") or [])
        yield Item(
            role=role,
            kind="result",
            id=block["tool_use_id"],
            error=bool(block.get("is_error")),
            text="\n".join(part["text"] for part in parts if part["type"] == "text"),
            media=tuple(_media(part) for part in parts if part["type"] in ("image", "document")),
        )


def _media(block: Json) -> str:
    source = block["source"]
    if source["type"] == "base64":
        return mark_of(source["media_type"], source["data"])
    return f"text:{source['data']}" if source["type"] == "text" else str(source.get("url", source["type"]))
