"""Tool search: the service searches tools whose declarations it keeps out of the model's prompt."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from newel.models.anthropic.blocks import THINKING
from newel.models.anthropic.media import text_block
from newel.models.anthropic.tools import Tools
from newel.models.deferral import Deferral
from newel_kernel import Json

RESULT = "tool_search_tool_result"
_USE = "server_tool_use"
_SEARCH: Json = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
_NAMES = ("tool_search_tool_bm25", "tool_search_tool_regex")
#: What is left of a message that had nothing but searches.
_SEARCHED = "I searched for tools."


def is_search(block: Json) -> bool:
    """Whether the block is a search for tools or its answer."""
    return block["type"] == RESULT or (block["type"] == _USE and block.get("name") in _NAMES)


def references(block: Json) -> list[str]:
    """The tools that a search found, as the service spells them."""
    content = block.get("content") if block.get("type") == RESULT else None
    listed = content.get("tool_references") if isinstance(content, dict) else None
    names = [one.get("tool_name") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [name for name in names if isinstance(name, str)]


def defer(tools: Tools, deferral: Deferral, referenced: Collection[str]) -> None:
    """Declare the search, and defer the tools that it searches, which come last.

    `referenced` are the tools that searches in the request's history found. A tool that must be called is not deferred.
    """
    names = {tools.names.out(name) for name in deferral.names}
    names -= {tools.names.out(name) for name in deferral.found}.difference(referenced)
    names.discard((tools.choice or {}).get("name", ""))
    deferred = [{**tool, "defer_loading": True} for tool in tools.declared if tool["name"] in names]
    tools.declared = [*(tool for tool in tools.declared if tool["name"] not in names), _SEARCH, *deferred]


@dataclass(frozen=True, slots=True)
class Fit:
    """Makes messages such that the service takes their searches: it refuses references to tools that it is not told of.

    `declared` are the tools of the request; None if it has no search, so that earlier ones are left out.
    """

    declared: frozenset[str] | None

    def messages(self, messages: list[Json]) -> list[Json]:
        """The messages; those that change are copied."""
        return [self._message(one) if one["role"] == "assistant" else one for one in messages]

    def _message(self, message: Json) -> Json:
        blocks: list[Json] = message["content"]
        if not any(is_search(block) for block in blocks):
            return message
        if self.declared is not None:
            return {**message, "content": [_known(block, self.declared) for block in blocks]}
        rest = [block for block in blocks if not is_search(block)]
        while rest and rest[-1]["type"] in THINKING:  # refused at the end of a message
            rest.pop()
        return {**message, "content": rest or [text_block(_SEARCHED)]}


def _known(block: Json, declared: frozenset[str]) -> Json:
    if declared.issuperset(references(block)):
        return block
    content = block["content"]
    known = [one for one in content["tool_references"] if one.get("tool_name") in declared]
    return {**block, "content": {**content, "tool_references": known}}
