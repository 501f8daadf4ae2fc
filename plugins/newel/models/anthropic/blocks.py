"""Blocks: the parts of a content as blocks of a message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from newel.models.anthropic.media import Report, by_uri, inline, kind_of, text_block
from newel.models.wire.signatures import kept_for, signature_of
from newel_kernel import Json
from newel_types import CodeExecutionResult, ExecutableCode, FunctionResponse, FunctionResponsePart, Part

PROVIDER = "anthropic"
#: What `Part.part_metadata` keeps for this provider: that a thought is opaque, and a block that newel has no part for.
REDACTED = "redacted"
BLOCK = "block"

THINKING = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class Media:
    """The kinds of media that a model takes in messages and in results of tools."""

    in_messages: frozenset[str]
    in_results: frozenset[str]


def assistant_blocks(part: Part, report: Report) -> Iterator[Json]:
    """A model's part as blocks, except calls. A thought goes back to its own provider unchanged, or not at all."""
    if part.thought:
        if (block := _thinking(part)) is not None:
            yield block
    elif part.text is not None:
        if part.text.strip():
            yield text_block(part.text)
    elif part.executable_code is not None or part.code_execution_result is not None:
        yield from _code(part.executable_code, part.code_execution_result)
    elif part.inline_data is not None or part.file_data is not None:
        yield from _of_model(part, report)


def user_blocks(part: Part, media: Media, report: Report) -> Iterator[Json]:
    """A user's part as blocks, except results of tools."""
    if part.thought:
        return
    block: Json | None = None
    if part.text is not None:
        block = text_block(part.text)
    elif (blob := part.inline_data) is not None:
        block = inline(blob.data, blob.mime_type, blob.display_name, media.in_messages, report)
    elif (file := part.file_data) is not None:
        block = by_uri(file.file_uri, file.mime_type, file.display_name, media.in_messages, report)
    if block is not None and (block["type"] != "text" or block["text"].strip()):
        yield block
    yield from _code(part.executable_code, part.code_execution_result)


def is_failure(content: Json) -> bool:
    """Whether a tool's result is an error: its only key is ``error``, or MCP says so."""
    return set(content) == {"error"} or content.get("isError") is True


def result_blocks(response: FunctionResponse, call_id: str, media: Media, report: Report) -> tuple[Json, list[Json]]:
    """The tool_result of a response with its media, and the blocks that may not be in it.

    The service allows only text in the result of a failure.
    """
    content = response.response or {}
    texts = [text_block(result_text(content))]
    others = [medium for part in response.parts or () if (medium := _medium(part, media, report)) is not None]
    block: Json = {"type": "tool_result", "tool_use_id": call_id}
    if is_failure(content):
        return {**block, "content": texts, "is_error": True}, others
    return {**block, "content": [*texts, *others]}, []


def orphan_blocks(response: FunctionResponse, media: Media, report: Report) -> list[Json]:
    """A result as text, because its call is not in the request or already has a result."""
    block, others = result_blocks(response, "", media, report)
    blocks = [text_block(f"[result of {response.name}]"), *block["content"], *others]
    return blocks


def unanswered(call_id: str) -> Json:
    """The result of a call that has none."""
    text = text_block("The call has no result: it was not run, or its result was lost.")
    return {"type": "tool_result", "tool_use_id": call_id, "content": [text], "is_error": True}


def result_text(content: Json) -> str:
    """A tool's answer as text: the value of ``result`` or ``error`` if it is the only key, else the whole object."""
    if len(content) == 1:
        ((name, value),) = content.items()
        if name in ("result", "error"):
            return value if isinstance(value, str) and value.strip() else _dumped(value)
    return _dumped(content)


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _thinking(part: Part) -> Json | None:
    block: Json | None = kept_for(part, PROVIDER, BLOCK)
    if block is not None:
        return dict(block)
    signature = signature_of(part, PROVIDER)
    if signature is None:  # another provider's, or cut before its signature came
        return None
    text = signature.decode("utf-8", "replace")
    if kept_for(part, PROVIDER, REDACTED):
        return {"type": "redacted_thinking", "data": text}
    return {"type": "thinking", "thinking": part.text or "", "signature": text}


def _code(code: ExecutableCode | None, result: CodeExecutionResult | None) -> Iterator[Json]:
    if code is not None and code.code and code.code.strip():
        yield text_block(f"```python\n{code.code}\n```")
    if result is not None and (result.output or "").strip():
        yield text_block(f"```\n{result.output}\n```")


def _of_model(part: Part, report: Report) -> Iterator[Json]:
    """Media that the model made: its messages hold text only."""
    blob = part.inline_data
    if blob is not None and kind_of(blob.mime_type or "") == "text" and blob.data and blob.data.strip():
        yield text_block(blob.data.decode("utf-8", "replace"))
        return
    mime = (part.inline_data or part.file_data).mime_type  # type: ignore[union-attr]
    report("media of the model", f"{mime} in a message of the model cannot be sent; it is left out")


def _medium(part: FunctionResponsePart, media: Media, report: Report) -> Json | None:
    block: Json | None = None
    if (blob := part.inline_data) is not None:
        block = inline(blob.data, blob.mime_type, blob.display_name, media.in_results, report)
    elif (file := part.file_data) is not None:
        block = by_uri(file.file_uri, file.mime_type, file.display_name, media.in_results, report)
    return block if block is not None and (block["type"] != "text" or block["text"]) else None
