"""Responses: the outcome of an interaction as a model response."""

from __future__ import annotations

from newel.models.google.interactions.steps import parts_of
from newel.models.google.sdk import Json
from newel.models.wire.observers import tell_observers
from newel_kernel import LlmResponse
from newel_types import Candidate, Content, FinishReason, GenerateContentResponse, GenerateContentResponseUsageMetadata

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


def response_of(interaction: Json) -> LlmResponse:
    """The response of an interaction that ended."""
    status = interaction.get("status")
    steps = interaction.get("steps") or []
    if status not in _FINISH:
        errors = interaction.get("errors") or [interaction.get("error") or {}]
        return failure(errors[0], interaction.get("id"), status)
    tell_observers(response_id=interaction.get("id"))
    parts = [part for step in steps for part in parts_of(step)]
    candidate = Candidate.model_validate(
        {
            "content": Content(role="model", parts=parts) if parts else None,
            "finish_reason": _FINISH[status],
            "grounding_metadata": _grounding(steps),
        }
    )
    response = LlmResponse.create(
        GenerateContentResponse(
            candidates=[candidate],
            usage_metadata=_usage(interaction.get("usage")),
            model_version=interaction.get("model"),
        )
    )
    response.interaction_id = interaction.get("id")
    return response


def failure(error: Json, interaction_id: str | None, status: str | None = None) -> LlmResponse:
    """The response of an interaction that failed."""
    code = error.get("code") or (status or "UNKNOWN_ERROR").upper()
    message = error.get("message") or f"the interaction ended with the status {status!r}"
    return LlmResponse(error_code=str(code), error_message=message, interaction_id=interaction_id)


def _usage(usage: Json | None) -> GenerateContentResponseUsageMetadata | None:
    if not usage:
        return None
    counts = {ours: usage[theirs] for ours, theirs in _USAGE.items() if usage.get(theirs) is not None}
    return GenerateContentResponseUsageMetadata(**counts)


def _grounding(steps: list[Json]) -> Json | None:
    """As grounding metadata: the searches behind the answer, its sources, and the passages they support."""
    queries: list[str] = []
    suggestions: list[str] = []
    sources: dict[str, str | None] = {}
    supports: list[Json] = []
    for step in steps:
        if step.get("type") == "google_search_call":
            queries += (step.get("arguments") or {}).get("queries") or []
        elif step.get("type") == "google_search_result":
            suggestions += filter(None, (one.get("search_suggestions") for one in step.get("result") or ()))
        elif step.get("type") == "model_output":
            for note in (one for piece in step.get("content") or () for one in piece.get("annotations") or ()):
                if note.get("type") == "url_citation" and note.get("url"):
                    sources.setdefault(note["url"], note.get("title"))
                    segment = {"start_index": note.get("start_index"), "end_index": note.get("end_index")}
                    index = list(sources).index(note["url"])
                    supports.append({"segment": segment, "grounding_chunk_indices": [index]})
    if not (queries or suggestions or sources):
        return None
    return {
        "web_search_queries": queries or None,
        "search_entry_point": {"rendered_content": "\n".join(suggestions)} if suggestions else None,
        "grounding_chunks": [{"web": {"uri": url, "title": title}} for url, title in sources.items()] or None,
        "grounding_supports": supports or None,
    }
