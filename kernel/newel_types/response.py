"""The response of a model call."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from newel_types.content import Content, FunctionCall, Part
from newel_types.reasons import BlockedReason, FinishReason
from newel_types.usage import GenerateContentResponseUsageMetadata
from newel_types.wire import ResponseModel, WireEnum, late

if TYPE_CHECKING:
    from newel_types.citations import CitationMetadata
    from newel_types.grounding import GroundingMetadata
    from newel_types.http import HttpResponse
    from newel_types.logprobs import LogprobsResult
    from newel_types.safety import SafetyRating
else:
    CitationMetadata = late("citations:CitationMetadata")
    GroundingMetadata = late("grounding:GroundingMetadata")
    HttpResponse = late("http:HttpResponse")
    LogprobsResult = late("logprobs:LogprobsResult")
    SafetyRating = late("safety:SafetyRating")


class ModelStage(WireEnum):
    """How mature a model is."""

    MODEL_STAGE_UNSPECIFIED = "MODEL_STAGE_UNSPECIFIED"
    UNSTABLE_EXPERIMENTAL = "UNSTABLE_EXPERIMENTAL"
    EXPERIMENTAL = "EXPERIMENTAL"
    PREVIEW = "PREVIEW"
    STABLE = "STABLE"
    LEGACY = "LEGACY"
    DEPRECATED = "DEPRECATED"
    RETIRED = "RETIRED"


class UrlRetrievalStatus(WireEnum):
    """Whether a URL could be read."""

    URL_RETRIEVAL_STATUS_UNSPECIFIED = "URL_RETRIEVAL_STATUS_UNSPECIFIED"
    URL_RETRIEVAL_STATUS_SUCCESS = "URL_RETRIEVAL_STATUS_SUCCESS"
    URL_RETRIEVAL_STATUS_ERROR = "URL_RETRIEVAL_STATUS_ERROR"
    URL_RETRIEVAL_STATUS_PAYWALL = "URL_RETRIEVAL_STATUS_PAYWALL"
    URL_RETRIEVAL_STATUS_UNSAFE = "URL_RETRIEVAL_STATUS_UNSAFE"


class UrlMetadata(ResponseModel):
    """A URL that the model read."""

    retrieved_url: str | None = None
    url_retrieval_status: UrlRetrievalStatus | None = None


class UrlContextMetadata(ResponseModel):
    """The URLs that the model read."""

    url_metadata: list[UrlMetadata] | None = None


class ModelStatus(ResponseModel):
    """How mature the model is and when it retires."""

    message: str | None = None
    model_stage: ModelStage | None = None
    retirement_time: datetime | None = None


class GenerateContentResponsePromptFeedback(ResponseModel):
    """Why the prompt was blocked."""

    block_reason: BlockedReason | None = None
    block_reason_message: str | None = None
    safety_ratings: list[SafetyRating] | None = None


class Candidate(ResponseModel):
    """One answer."""

    content: Content | None = None
    citation_metadata: CitationMetadata | None = None
    finish_message: str | None = None
    token_count: int | None = None
    finish_reason: FinishReason | None = None
    grounding_metadata: GroundingMetadata | None = None
    avg_logprobs: float | None = None
    index: int | None = None
    logprobs_result: LogprobsResult | None = None
    safety_ratings: list[SafetyRating] | None = None
    url_context_metadata: UrlContextMetadata | None = None
    continuation_token: bytes | None = None


class GenerateContentResponse(ResponseModel):
    """The response of a model call, or one chunk of it when streamed."""

    sdk_http_response: HttpResponse | None = None
    candidates: list[Candidate] | None = None
    create_time: datetime | None = None
    model_version: str | None = None
    prompt_feedback: GenerateContentResponsePromptFeedback | None = None
    response_id: str | None = None
    usage_metadata: GenerateContentResponseUsageMetadata | None = None
    model_status: ModelStatus | None = None
    automatic_function_calling_history: list[Content] | None = None
    parsed: Any = None

    @property
    def parts(self) -> list[Part] | None:
        """The parts of the first candidate."""
        content = self.candidates[0].content if self.candidates else None
        return content.parts if content else None

    @property
    def text(self) -> str | None:
        """The text of the first candidate without its thoughts; None if no part holds text."""
        texts = [part.text for part in self.parts or () if part.text is not None and not part.thought]
        return "".join(texts) if texts else None

    @property
    def function_calls(self) -> list[FunctionCall] | None:
        """The tool calls of the first candidate, or None."""
        return [part.function_call for part in self.parts or () if part.function_call is not None] or None

    @property
    def executable_code(self) -> str | None:
        """The first code of the first candidate."""
        return next((part.executable_code.code for part in self.parts or () if part.executable_code), None)

    @property
    def code_execution_result(self) -> str | None:
        """The output of the first execution in the first candidate."""
        results = (part.code_execution_result for part in self.parts or ())
        return next((result.output for result in results if result), None)
