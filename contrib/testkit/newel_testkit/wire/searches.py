"""Searches for tools that a service does itself: what Anthropic and OpenAI refuse of them, and how answers hold them.

Rules from Anthropic's "Tool search tool" and OpenAI's guide "Tool search". Stricter than they are known to be: a search
in the history needs a search among the tools, and what it found has to be declared.
"""

from __future__ import annotations

from typing import Any

from newel_kernel import Json
from newel_testkit.wire.schemas import RefusedError

_ANTHROPIC = "tool_search_tool"
_RESULT = "tool_search_tool_result"


def claude_search(*found: str, call_id: str = "srvtoolu_1", query: str = "the tool") -> tuple[Json, Json]:
    """The parts of an answer of Anthropic with a search that found these tools."""
    name = f"{_ANTHROPIC}_bm25"
    references = [{"type": "tool_reference", "tool_name": one} for one in found]
    content = {"type": "tool_search_tool_search_result", "tool_references": references}
    return (
        {"block": {"type": "server_tool_use", "id": call_id, "name": name, "input": {"query": query}}},
        {"block": {"type": _RESULT, "tool_use_id": call_id, "content": content}},
    )


def responses_search(*found: str, number: int = 1) -> tuple[Json, Json]:
    """The parts of an answer of the Responses API with a search that found these tools."""
    shared = {"call_id": None, "execution": "server", "status": "completed"}
    tools = [
        {"type": "function", "name": name, "description": "", "parameters": {"type": "object"}, "defer_loading": True}
        for name in found
    ]
    call = {"type": "tool_search_call", "id": f"tsc_{number}", "arguments": {"paths": list(found)}, **shared}
    return {"item": call}, {"item": {"type": "tool_search_output", "id": f"tso_{number}", "tools": tools, **shared}}


def check_claude_searches(body: Json) -> None:
    """Raise a RefusedError if Anthropic would not accept the searches of a request."""
    tools: list[Json] = body.get("tools") or []
    deferred = [tool for tool in tools if tool.get("defer_loading")]
    if deferred and len(deferred) == len(tools):
        raise RefusedError("At least one tool must have defer_loading=false.")
    for tool in deferred:
        if tool.get("cache_control"):
            raise RefusedError(f"tools: {tool['name']} cannot have both defer_loading and cache_control")
    searches = any(str(tool.get("type")).startswith(_ANTHROPIC) for tool in tools)
    if deferred and not searches:
        raise RefusedError("tools: a deferred tool needs a tool search tool")
    names = {tool.get("name") for tool in tools}
    for index, message in enumerate(body["messages"]):
        _check_blocks(message["content"], names, searches, f"messages.{index}")


def _check_blocks(blocks: object, names: set[Any], searches: bool, where: str) -> None:
    asked: list[str] = []
    for block in blocks if isinstance(blocks, list) else ():
        if block["type"] == "server_tool_use" and str(block.get("name")).startswith(_ANTHROPIC):
            asked.append(block["id"])
        elif block["type"] != _RESULT:
            continue
        elif block.get("tool_use_id") not in asked:
            raise RefusedError(f"{where}: unexpected `tool_use_id` in {_RESULT}: {block.get('tool_use_id')}")
        else:
            asked.remove(block["tool_use_id"])
            for one in block["content"].get("tool_references") or ():
                if one["tool_name"] not in names:
                    raise RefusedError(f"Tool reference '{one['tool_name']}' not found in available tools")
        if not searches:
            raise RefusedError(f"{where}: a search without a tool search tool")
    if asked:
        raise RefusedError(f"{where}: `server_tool_use` without its result: {asked[0]}")


def check_responses_searches(body: Json) -> None:
    """Raise a RefusedError if OpenAI would not accept the searches of a request."""
    tools: list[Json] = body.get("tools") or []
    searches = any(tool.get("type") == "tool_search" for tool in tools)
    if any(tool.get("defer_loading") for tool in tools) != searches:
        raise RefusedError("Deferred tools require a tool_search tool, which requires deferred tools.")
    names = {tool.get("name") for tool in tools}
    open_search = False
    for index, item in enumerate(body["input"]):
        kind = item.get("type")
        if kind not in ("tool_search_call", "tool_search_output"):
            continue
        where = f"input[{index}]"
        if not searches:
            raise RefusedError(f"Invalid '{where}': a search without the tool tool_search.")
        if item.get("id") and not body.get("store", True):
            raise RefusedError(f"Item with id {item['id']!r} not found. Items are not persisted when `store` is false.")
        if open_search != (kind == "tool_search_output"):
            raise RefusedError(f"Invalid '{where}': a search and its output have to alternate.")
        open_search = not open_search
        for tool in item.get("tools") or ():
            if tool["name"] not in names:
                raise RefusedError(f"Invalid '{where}.tools': {tool['name']!r} is not declared.")
    if open_search:
        raise RefusedError("No output found for tool search call.")
