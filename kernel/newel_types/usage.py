"""Token counts."""

from typing import TYPE_CHECKING

from newel_types.wire import ResponseModel, WireEnum, late

if TYPE_CHECKING:
    from newel_types.config import ServiceTier
else:
    ServiceTier = late("config:ServiceTier")


class MediaModality(WireEnum):
    """The modality of counted tokens."""

    MODALITY_UNSPECIFIED = "MODALITY_UNSPECIFIED"
    TEXT = "TEXT"
    IMAGE = "IMAGE"
    VIDEO = "VIDEO"
    AUDIO = "AUDIO"
    DOCUMENT = "DOCUMENT"


class TrafficType(WireEnum):
    """How a request is billed."""

    TRAFFIC_TYPE_UNSPECIFIED = "TRAFFIC_TYPE_UNSPECIFIED"
    ON_DEMAND = "ON_DEMAND"
    ON_DEMAND_PRIORITY = "ON_DEMAND_PRIORITY"
    ON_DEMAND_FLEX = "ON_DEMAND_FLEX"
    ON_DEMAND_OFFPEAK = "ON_DEMAND_OFFPEAK"
    PROVISIONED_THROUGHPUT = "PROVISIONED_THROUGHPUT"


class ModalityTokenCount(ResponseModel):
    """The tokens of one modality."""

    modality: MediaModality | None = None
    token_count: int | None = None


class GenerateContentResponseUsageMetadata(ResponseModel):
    """The token counts of a model call."""

    cache_tokens_details: list[ModalityTokenCount] | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    candidates_tokens_details: list[ModalityTokenCount] | None = None
    prompt_token_count: int | None = None
    prompt_tokens_details: list[ModalityTokenCount] | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    tool_use_prompt_tokens_details: list[ModalityTokenCount] | None = None
    total_token_count: int | None = None
    traffic_type: TrafficType | None = None


class UsageMetadata(ResponseModel):
    """The token counts of a live session."""

    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    response_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    thoughts_token_count: int | None = None
    total_token_count: int | None = None
    prompt_tokens_details: list[ModalityTokenCount] | None = None
    cache_tokens_details: list[ModalityTokenCount] | None = None
    response_tokens_details: list[ModalityTokenCount] | None = None
    tool_use_prompt_tokens_details: list[ModalityTokenCount] | None = None
    traffic_type: TrafficType | None = None
    service_tier: ServiceTier | None = None
