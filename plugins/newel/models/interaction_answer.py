"""What the Interactions API answers, as model responses: whole interactions, and the events of streamed ones."""

from __future__ import annotations

import base64
import json
from typing import Any

from newel_kernel import LlmResponse
from newel_types import Content, FunctionCall, Part
from newel_types import FinishReason
from newel_types import Candidate, GenerateContentResponse
from newel_types import GenerateContentResponseUsageMetadata

Json = dict[str, Any]

_FINISH = {
    "completed": FinishReason.STOP,
    "requires_action": FinishReason.STOP,
    "incomplete": FinishReason.MAX_TOKENS,
    "requires_continuation": FinishReason.MAX_TOKENS,
}
_USAGE = {
    "prompt_token_count": "total_input_tokens",
    "candidates_token_count": "total_output_tokens",
    "cached_content_token_count": "total_cached_tokens",
    "thoughts_token_count": "total_thought_tokens",
    "tool_use_prompt_token_count": "total_tool_use_tokens",
    "total_token_count": "total_tokens",
}
#: Steps that repeat what the interaction was given.
_GIVEN = ("user_input", "function_result")


def whole(interaction: Json) -> LlmResponse:
    """The response of an interaction that ended."""
    status = interaction.get("status")
    told = interaction.get("steps") or []
    if status not in _FINISH:
        errors = interaction.get("errors") or [interaction.get("error") or {}]
        return failure(errors[0], interaction.get("id"), status)
    parts = [part for step in told for part in _parts(step)]
    candidate = Candidate(
        content=Content(role="model", parts=parts) if parts else None,
        finish_reason=_FINISH[status],
        grounding_metadata=_grounding(told),
    )
    response = LlmResponse.create(
        GenerateContentResponse(
            candidates=[candidate], usage_metadata=_usage(interaction.get("usage")),
            model_version=interaction.get("model"),
        )
    )  # fmt: skip
    response.interaction_id = interaction.get("id")
    return response


def failure(error: Json, interaction_id: str | None, status: str | None = None) -> LlmResponse:
    """The response of an interaction that failed."""
    code = error.get("code") or (status or "UNKNOWN_ERROR").upper()
    message = error.get("message") or f"the interaction ended with the status {status!r}"
    return LlmResponse(error_code=str(code), error_message=message, interaction_id=interaction_id)


class Growing:
    """An interaction as its events tell of it: each chunk as a partial response, and the whole at the end.

    The SDK continues an interaction that the service cuts at a limit: then several come in a row, and are one answer.
    """

    def __init__(self) -> None:
        self._done: list[Json] = []
        self._steps: dict[int, Json] = {}
        self._interaction: Json = {}
        self._usage: dict[str, int] = {}
        self._failure: LlmResponse | None = None

    def add(self, event: Json) -> LlmResponse | None:
        """Take one event; the partial response that it makes, if any."""
        kind = event.get("event_type")
        parts: list[Part] = []
        if kind in ("interaction.created", "interaction.completed"):
            self._advance(event["interaction"], ended=kind == "interaction.completed")
        elif kind == "interaction.status_update":
            self._interaction |= {"id": event.get("interaction_id"), "status": event.get("status")}
        elif kind == "error":
            self._failure = failure(event.get("error") or {}, self._interaction.get("id"))
        elif kind == "step.start":
            self._steps[event["index"]] = dict(event["step"])
        elif kind == "step.delta":
            parts = _grown(self._steps.setdefault(event["index"], {}), event["delta"])
        elif kind == "step.stop":
            parts = self._ended(self._steps.get(event["index"], {}))
        if not parts:
            return None
        content = Content(role="model", parts=parts)
        return LlmResponse(content=content, partial=True, interaction_id=self._interaction.get("id"))

    def close(self) -> LlmResponse:
        """The whole answer."""
        response = self._failure
        if response is None:
            self._end_steps()
            told = {**self._interaction, "steps": self._done, "usage": self._usage}
            response = whole(told)
        response.partial = False
        return response

    def _advance(self, interaction: Json, *, ended: bool) -> None:
        self._end_steps()
        if ended and not self._done:
            self._done = interaction.get("steps") or []
        if ended:
            for name, count in (interaction.get("usage") or {}).items():
                if isinstance(count, int):
                    self._usage[name] = self._usage.get(name, 0) + count
        self._interaction |= interaction

    def _end_steps(self) -> None:
        self._done.extend(step for _, step in sorted(self._steps.items()))
        self._steps = {}

    def _ended(self, step: Json) -> list[Part]:
        """The parts of a step that came to its end, but for those whose pieces were passed on already."""
        text = step.pop("text_of_arguments", None)
        if text:
            try:
                step["arguments"] = json.loads(text)
            except ValueError:
                error = {"code": "MALFORMED_FUNCTION_CALL", "message": f"arguments of {step.get('name')} are no JSON"}
                self._failure = failure(error, self._interaction.get("id"))
                return []
        return [] if step.get("type") in ("model_output", "thought") else _parts(step)


def _grown(step: Json, delta: Json) -> list[Part]:
    """Add `delta` to `step`; the parts to pass on."""
    kind = delta.get("type")
    if kind == "arguments_delta":
        step["text_of_arguments"] = step.get("text_of_arguments", "") + (delta.get("arguments") or "")
    elif kind == "thought_summary":
        summary = delta.get("content") or {}
        step.setdefault("summary", []).append(summary)
        return [Part(text=summary["text"], thought=True)] if summary.get("text") else []
    elif kind == "thought_signature":
        step["signature"] = delta.get("signature")
    elif kind == "text_annotation_delta":
        if step.get("content"):
            step["content"][-1].setdefault("annotations", []).extend(delta.get("annotations") or ())
    elif kind == "text":
        content = step.setdefault("content", [])
        if content and content[-1].get("type") == "text":
            content[-1]["text"] += delta.get("text") or ""
        else:
            content.append(dict(delta))
        return [Part(text=delta["text"])] if delta.get("text") else []
    elif kind in ("image", "audio", "video", "document"):
        step.setdefault("content", []).append(delta)
        return _said(delta)
    else:  # a step of the service's own tools, which comes in one piece
        step.update({name: value for name, value in delta.items() if name != "type"})
    return []


def _parts(step: Json) -> list[Part]:
    """The parts of one step; none of those that only the service needs."""
    kind = step.get("type")
    if kind in _GIVEN:
        return []
    if kind == "model_output":
        return [part for piece in step.get("content") or () for part in _said(piece)]
    if kind == "function_call":
        call = FunctionCall(id=step.get("id"), name=step.get("name"), args=step.get("arguments") or {})
        return [Part(function_call=call)]
    if kind == "thought":
        text = "".join(piece.get("text") or "" for piece in step.get("summary") or ())
        signature = base64.b64decode(step["signature"]) if step.get("signature") else None
        return [Part(text=text or None, thought=True, thought_signature=signature)] if text or signature else []
    if kind == "code_execution_call":
        code = step.get("arguments") or {}
        language = str(code.get("language") or "python").upper()
        return [Part.model_validate({"executable_code": {"code": code.get("code"), "language": language}})]
    if kind == "code_execution_result":
        outcome = "OUTCOME_FAILED" if step.get("is_error") else "OUTCOME_OK"
        result = {"output": step.get("result") or "", "outcome": outcome}
        return [Part.model_validate({"code_execution_result": result})]
    return []


def _said(piece: Json) -> list[Part]:
    """A piece of what the model said."""
    if piece.get("type") == "text":
        return [Part(text=piece["text"])] if piece.get("text") else []
    mime_type = piece.get("mime_type")
    if piece.get("data"):
        data = base64.b64decode(piece["data"])
        return [Part.model_validate({"inline_data": {"data": data, "mime_type": mime_type}})]
    if piece.get("uri"):
        return [Part.model_validate({"file_data": {"file_uri": piece["uri"], "mime_type": mime_type}})]
    return []


def _usage(usage: Json | None) -> GenerateContentResponseUsageMetadata | None:
    if not usage:
        return None
    counts = {ours: usage[theirs] for ours, theirs in _USAGE.items() if usage.get(theirs) is not None}
    return GenerateContentResponseUsageMetadata(**counts)


def _grounding(steps: list[Json]) -> Any:
    """What the answer is grounded in, as grounding metadata: searches, sources, and the passages they support."""
    queries: list[str] = []
    suggestions: list[str] = []
    sources: dict[str, str | None] = {}
    supports: list[Json] = []
    for step in steps:
        if step.get("type") == "google_search_call":
            queries += (step.get("arguments") or {}).get("queries") or []
        elif step.get("type") == "google_search_result":
            found = (one.get("search_suggestions") for one in step.get("result") or ())
            suggestions += filter(None, found)
        elif step.get("type") == "model_output":
            for cited in (one for piece in step.get("content") or () for one in piece.get("annotations") or ()):
                if cited.get("type") == "url_citation" and cited.get("url"):
                    sources.setdefault(cited["url"], cited.get("title"))
                    segment = {"start_index": cited.get("start_index"), "end_index": cited.get("end_index")}
                    index = list(sources).index(cited["url"])
                    supports.append({"segment": segment, "grounding_chunk_indices": [index]})
    if not (queries or suggestions or sources):
        return None
    return {
        "web_search_queries": queries or None,
        "search_entry_point": {"rendered_content": "\n".join(suggestions)} if suggestions else None,
        "grounding_chunks": [{"web": {"uri": url, "title": title}} for url, title in sources.items()] or None,
        "grounding_supports": supports or None,
    }
