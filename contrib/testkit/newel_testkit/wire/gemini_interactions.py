"""Gemini's Interactions API: what it keeps, what it refuses, and its form of answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from newel_kernel import Json

#: An answer in the words of generateContent.
Chunks = Sequence[Json]

PATH = re.compile(r"/v1(?:alpha|beta|beta1)?/(?:projects/[^/]+/locations/[^/]+/)?interactions")

_FIELDS = {
    "model",
    "input",
    "stream",
    "previous_interaction_id",
    "system_instruction",
    "tools",
    "generation_config",
    "response_format",
    "response_mime_type",
    "response_modalities",
    "safety_settings",
    "store",
    "background",
    "cached_content",
    "service_tier",
    "labels",
    "continuation_token",
}
_SETTINGS = {
    "temperature",
    "top_p",
    "seed",
    "stop_sequences",
    "max_output_tokens",
    "thinking_level",
    "thinking_summaries",
    "tool_choice",
    "image_config",
    "speech_config",
    "video_config",
    "transcription_config",
}
#: Type of a step -> what it must have.
_STEPS = {
    "user_input": ("content",),
    "model_output": ("content",),
    "thought": ("signature",),
    "function_call": ("id", "name", "arguments"),
    "function_result": ("call_id", "result"),
    "code_execution_call": ("id", "arguments"),
    "code_execution_result": ("call_id", "result"),
}
_PIECES = ("text", "image", "audio", "video", "document")
_USAGE = {
    "promptTokenCount": "total_input_tokens",
    "candidatesTokenCount": "total_output_tokens",
    "cachedContentTokenCount": "total_cached_tokens",
    "thoughtsTokenCount": "total_thought_tokens",
    "totalTokenCount": "total_tokens",
}
_STATUS = {"STOP": "completed", "MAX_TOKENS": "incomplete"}


class Interactions:
    """The interactions that are kept: id -> the ids of calls that wait for a result. Delete one to make it lost."""

    def __init__(self) -> None:
        self.waiting: dict[str, set[str]] = {}

    def refusal(self, body: object) -> str | None:
        """Why the service would answer with 400; None if it would not."""
        if not isinstance(body, dict) or not body.get("model"):
            return "model is required"
        return next(self._problems(body), None)

    def _problems(self, body: Json) -> Iterator[str]:
        for unknown in [*(body.keys() - _FIELDS), *(body.get("generation_config", {}).keys() - _SETTINGS)]:
            yield f"Unknown parameter '{unknown}'."
        before = body.get("previous_interaction_id")
        if before is not None and before not in self.waiting:
            yield f"Interaction {before} was not found."
        for tool in body.get("tools", ()):
            if tool.get("type") == "function" and not tool.get("name"):
                yield "a function needs a name"
        steps = body.get("input")
        if not steps:
            yield "input is required"
        if isinstance(steps, list):
            waiting = self.waiting.get(before, ()) if before is not None else ()
            yield from _bad_steps(steps, set(waiting))

    def keep(self, interaction: Json) -> None:
        """Keep an interaction that was answered."""
        calls = {step["id"] for step in interaction["steps"] if step["type"] == "function_call"}
        self.waiting[interaction["id"]] = calls

    def answered(self, chunks: Chunks, model: str, *, streamed: bool, whole: bool, store: bool) -> list[Json]:
        """What `chunks` say in the words of this API: events, or one interaction. Unless `whole`, it breaks off."""
        number = len(self.waiting) + 1
        interaction = _interaction(chunks, model, f"interaction-{number}", first_call=100 * number)
        if store:
            self.keep(interaction)
        return list(_events(interaction, chunks, whole=whole)) if streamed else [interaction]


def _bad_steps(steps: list[Json], waiting: set[str]) -> Iterator[str]:
    """What is wrong with steps that follow calls; the ids in `waiting` are of calls without a result."""
    for step in steps:
        bad = [*_bad_step(step)]
        if bad:
            yield from bad
            continue
        if step["type"].endswith("_call"):
            waiting.add(step["id"])
        if step["type"].endswith("_result"):
            if step["call_id"] not in waiting:
                yield f"No function call with the id {step['call_id']!r}."
            waiting.discard(step["call_id"])
    if waiting:
        yield f"Missing results of the function calls {sorted(waiting)}."


def _bad_step(step: Json) -> Iterator[str]:
    kind = str(step.get("type"))
    if kind not in _STEPS:
        yield f"Unknown step type {kind!r}."
    for name in _STEPS.get(kind, ()):
        if not step.get(name) and step.get(name) not in ({}, ""):
            yield f"Missing {name} in step of type {kind}"
    for piece in step.get("content", ()):
        if piece.get("type") not in _PIECES:
            yield f"Unknown content type {piece.get('type')!r}."


def _interaction(chunks: Chunks, model: str, id: str, *, first_call: int) -> Json:
    """The interaction whose steps say what `chunks` say."""
    steps: list[Json] = []
    usage: Json = {}
    reason = "STOP"
    for chunk in chunks:
        usage |= {_USAGE[name]: count for name, count in chunk.get("usageMetadata", {}).items() if name in _USAGE}
        for candidate in chunk.get("candidates", ())[:1]:
            reason = candidate.get("finishReason", reason)
            for part in candidate.get("content", {}).get("parts", ()):
                _add(steps, part, first_call)
    status = _STATUS.get(reason, "failed")
    if status == "completed" and any(step["type"] == "function_call" for step in steps):
        status = "requires_action"
    whole = {"id": id, "object": "interaction", "model": model, "status": status, "steps": steps, "usage": usage}
    return whole if status != "failed" else {**whole, "errors": [{"code": reason, "message": f"stopped: {reason}"}]}


def _add(steps: list[Json], part: Json, first_call: int) -> None:
    """Add what a part says to the last step, or as a step."""
    signature = part.get("thoughtSignature")
    if part.get("thought"):
        summary = [{"type": "text", "text": part["text"]}] if part.get("text") else []
        steps.append({"type": "thought", "summary": summary, **({"signature": signature} if signature else {})})
        return
    if signature:
        steps.append({"type": "thought", "signature": signature})
    if "functionCall" in part:
        call = part["functionCall"]
        id = call.get("id") or f"call-{first_call + len(steps)}"
        steps.append({"type": "function_call", "id": id, "name": call["name"], "arguments": call.get("args", {})})
        return
    if "inlineData" in part:
        medium = part["inlineData"]
        kind = medium["mimeType"].partition("/")[0]
        piece = {"type": kind, "data": medium["data"], "mime_type": medium["mimeType"]}
    else:
        piece = {"type": "text", "text": part["text"]}
    if not steps or steps[-1]["type"] != "model_output":
        steps.append({"type": "model_output", "content": []})
    content = steps[-1]["content"]
    if content and content[-1]["type"] == piece["type"] == "text":
        content[-1] = {"type": "text", "text": content[-1]["text"] + piece["text"]}
    else:
        content.append(piece)


def _events(interaction: Json, chunks: Chunks, *, whole: bool) -> Iterator[Json]:
    """The events of a streamed interaction; if the stream breaks off, without its end."""
    about = {name: interaction[name] for name in ("id", "model")}
    yield {"event_type": "interaction.created", "interaction": {**about, "status": "in_progress"}}
    pieces = [part["text"] for part in _parts(chunks) if "text" in part and not part.get("thought")]
    for index, step in enumerate(interaction["steps"]):
        yield {"event_type": "step.start", "index": index, "step": _opening(step)}
        for delta in _deltas(step, pieces):
            yield {"event_type": "step.delta", "index": index, "delta": delta}
        yield {"event_type": "step.stop", "index": index}
    if not whole:
        return
    if interaction["status"] == "failed":
        yield {"event_type": "error", "error": interaction["errors"][0]}
        return
    ended = {**about, "status": interaction["status"], "usage": interaction["usage"]}
    yield {"event_type": "interaction.completed", "interaction": ended}


def _parts(chunks: Chunks) -> Iterator[Json]:
    for chunk in chunks:
        for candidate in chunk.get("candidates", ())[:1]:
            yield from candidate.get("content", {}).get("parts", ())


def _opening(step: Json) -> Json:
    if step["type"] == "function_call":
        return {**step, "arguments": {}}
    return {"type": step["type"]}


def _deltas(step: Json, pieces: list[str]) -> Iterator[Json]:
    """The deltas of a step; texts come in the `pieces` of the script, which are used up."""
    if step["type"] == "function_call":
        text = json.dumps(step["arguments"])
        for half in (text[: len(text) // 2], text[len(text) // 2 :]):
            yield {"type": "arguments_delta", "arguments": half}
    for summary in step.get("summary", ()):
        yield {"type": "thought_summary", "content": summary}
    if step.get("signature"):
        yield {"type": "thought_signature", "signature": step["signature"]}
    for content in step.get("content", ()):
        left = content.get("text", "")
        while left:
            piece = pieces.pop(0)
            yield {"type": "text", "text": piece}
            left = left[len(piece) :]
        if content["type"] != "text":
            yield content
