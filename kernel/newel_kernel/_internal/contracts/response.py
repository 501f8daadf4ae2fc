"""LlmResponse: what a model provider yields, one per chunk or answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import newel_types
from newel_kernel._internal.values import Json
from newel_types import (
    Content,
    FinishReason,
    GenerateContentResponseUsageMetadata,
    Record,
    SparseValues,
    coerce,
    late,
    record,
    set_sparse,
)

if TYPE_CHECKING:
    from newel_types import (
        CacheMetadata,
        CitationMetadata,
        GroundingMetadata,
        LiveServerGoAway,
        LiveServerSessionResumptionUpdate,
        LiveServerToolCallCancellation,
        LogprobsResult,
        Transcription,
        VoiceActivity,
    )
else:  # rare in an answer: each loads with its first value
    CacheMetadata = late("cache_metadata:CacheMetadata")
    CitationMetadata = late("citations:CitationMetadata")
    GroundingMetadata = late("grounding:GroundingMetadata")
    LiveServerGoAway = late("live_server:LiveServerGoAway")
    LiveServerSessionResumptionUpdate = late("live_server:LiveServerSessionResumptionUpdate")
    LiveServerToolCallCancellation = late("live_server:LiveServerToolCallCancellation")
    LogprobsResult = late("logprobs:LogprobsResult")
    Transcription = late("transcription:Transcription")
    VoiceActivity = late("live_server:VoiceActivity")


@record
class LlmResponse(Record):
    """One answer of a model, or one chunk of it (`partial=True`), or its failure (`error_code`)."""

    sparse: ClassVar[tuple[str, ...]] = (
        "grounding_metadata",
        "turn_complete",
        "error_code",
        "error_message",
        "interrupted",
        "live_session_resumption_update",
        "live_session_id",
        "go_away",
        "input_transcription",
        "output_transcription",
        "avg_logprobs",
        "logprobs_result",
        "cache_metadata",
        "citation_metadata",
        "interaction_id",
        "voice_activity",
        "tool_call_cancellation",
    )

    model_version: str | None = None
    content: Content | None = None
    grounding_metadata: GroundingMetadata | None = None
    partial: bool | None = None
    turn_complete: bool | None = None
    finish_reason: FinishReason | None = None
    error_code: str | None = None
    error_message: str | None = None
    interrupted: bool | None = None
    custom_metadata: Json | None = None
    usage_metadata: GenerateContentResponseUsageMetadata | None = None
    live_session_resumption_update: LiveServerSessionResumptionUpdate | None = None
    live_session_id: str | None = None
    go_away: LiveServerGoAway | None = None
    input_transcription: Transcription | None = None
    output_transcription: Transcription | None = None
    avg_logprobs: float | None = None
    logprobs_result: LogprobsResult | None = None
    cache_metadata: CacheMetadata | None = None
    citation_metadata: CitationMetadata | None = None
    interaction_id: str | None = None
    voice_activity: VoiceActivity | None = None
    #: The calls that need no result any more; only from a live connection, and never on an event.
    tool_call_cancellation: LiveServerToolCallCancellation | None = None

    def __init__(
        self,
        content: Content | None = None,
        partial: bool | None = None,
        model_version: str | None = None,
        finish_reason: FinishReason | None = None,
        custom_metadata: Json | None = None,
        usage_metadata: GenerateContentResponseUsageMetadata | None = None,
        **others: object,
    ) -> None:
        self.content = content
        self.partial = partial
        self.model_version = model_version
        self.finish_reason = finish_reason
        self.custom_metadata = custom_metadata
        self.usage_metadata = usage_metadata
        self.sparse_values = NO_SPARSE
        if others:
            set_sparse(self, others)
        if content.__class__ is not Content or finish_reason is not None or usage_metadata is not None:
            self.__post_init__()

    def __post_init__(self) -> None:
        if self.content.__class__ is not Content:
            self.content = coerce(Content, self.content)
        if self.finish_reason is not None and self.finish_reason.__class__ is not FinishReason:
            self.finish_reason = FinishReason(self.finish_reason)
        used = self.usage_metadata
        if used is not None and used.__class__ is not GenerateContentResponseUsageMetadata:
            self.usage_metadata = GenerateContentResponseUsageMetadata.model_validate(used)

    @classmethod
    def create(cls, generate_content_response: object) -> LlmResponse:
        """The response of a ``GenerateContentResponse`` (ours or google-genai's).

        An answer without a candidate and without prompt feedback is an error ``UNKNOWN_ERROR``. Specified in
        docs/reference/behaviour.md#responses.
        """
        # Few providers answer with one: the class loads when the first does.
        answer = newel_types.GenerateContentResponse.model_validate(generate_content_response)
        common: Json = {"usage_metadata": answer.usage_metadata, "model_version": answer.model_version}
        if answer.candidates:
            candidate = answer.candidates[0]
            common |= {
                "finish_reason": candidate.finish_reason,
                "citation_metadata": candidate.citation_metadata,
                "avg_logprobs": candidate.avg_logprobs,
                "logprobs_result": candidate.logprobs_result,
            }
            if (candidate.content and candidate.content.parts) or candidate.finish_reason == FinishReason.STOP:
                return cls(content=candidate.content, grounding_metadata=candidate.grounding_metadata, **common)
            return cls(error_code=_text(candidate.finish_reason), error_message=candidate.finish_message, **common)
        if answer.prompt_feedback:
            blocked = answer.prompt_feedback
            return cls(error_code=_text(blocked.block_reason), error_message=blocked.block_reason_message, **common)
        return cls(error_code="UNKNOWN_ERROR", error_message="Unknown error.", **common)


#: The value that all responses without rare fields share; most have none.
NO_SPARSE: SparseValues = LlmResponse.no_sparse


def _text(reason: FinishReason | newel_types.BlockedReason | None) -> str | None:
    return None if reason is None else reason.value
