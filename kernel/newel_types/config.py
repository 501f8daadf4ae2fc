"""The configuration of a model call."""

from typing import TYPE_CHECKING, Any

from newel_types.field_errors import OneLineErrors
from newel_types.unions import ContentUnion, SchemaUnion, ToolListUnion
from newel_types.wire import WireEnum, WireModel, late

if TYPE_CHECKING:
    from newel_types.generation import (
        GenerationConfigRoutingConfig,
        GenerationOutputConfig,
        ModelSelectionConfig,
    )
    from newel_types.http import HttpOptions
    from newel_types.images import ImageConfig
    from newel_types.safety import ModelArmorConfig, SafetySetting
    from newel_types.speech import AudioTranscriptionConfig, SpeechConfig
    from newel_types.tool_config import ToolConfig
else:
    GenerationConfigRoutingConfig = late("generation:GenerationConfigRoutingConfig")
    GenerationOutputConfig = late("generation:GenerationOutputConfig")
    ModelSelectionConfig = late("generation:ModelSelectionConfig")
    HttpOptions = late("http:HttpOptions")
    ImageConfig = late("images:ImageConfig")
    ModelArmorConfig = late("safety:ModelArmorConfig")
    SafetySetting = late("safety:SafetySetting")
    AudioTranscriptionConfig = late("speech:AudioTranscriptionConfig")
    SpeechConfig = late("speech:SpeechConfig")
    ToolConfig = late("tool_config:ToolConfig")


class MediaResolution(WireEnum):
    """The resolution at which the model sees all media of a request."""

    MEDIA_RESOLUTION_UNSPECIFIED = "MEDIA_RESOLUTION_UNSPECIFIED"
    MEDIA_RESOLUTION_LOW = "MEDIA_RESOLUTION_LOW"
    MEDIA_RESOLUTION_MEDIUM = "MEDIA_RESOLUTION_MEDIUM"
    MEDIA_RESOLUTION_HIGH = "MEDIA_RESOLUTION_HIGH"


class ServiceTier(WireEnum):
    """The service tier of a request."""

    UNSPECIFIED = "unspecified"
    FLEX = "flex"
    STANDARD = "standard"
    PRIORITY = "priority"


class ThinkingLevel(WireEnum):
    """How much the model thinks."""

    THINKING_LEVEL_UNSPECIFIED = "THINKING_LEVEL_UNSPECIFIED"
    MINIMAL = "MINIMAL"
    LOW = "LOW"
    MEDIUM = "MEDIUM"
    HIGH = "HIGH"
    XHIGH = "XHIGH"


class ThinkingConfig(WireModel):
    """Whether and how much the model thinks; the budget is in tokens, 0 turns thinking off."""

    include_thoughts: bool | None = None
    thinking_budget: int | None = None
    thinking_level: ThinkingLevel | None = None


class AutomaticFunctionCallingConfig(WireModel):
    """The SDK's own tool loop. An agent runtime dispatches tools itself and disables it."""

    disable: bool | None = None
    maximum_remote_calls: int | None = 10
    ignore_call_history: bool | None = None


class GenerateContentConfig(OneLineErrors, WireModel):
    """The configuration of one model call."""

    http_options: HttpOptions | None = None
    should_return_http_response: bool | None = None
    system_instruction: ContentUnion | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    candidate_count: int | None = None
    max_output_tokens: int | None = None
    stop_sequences: list[str] | None = None
    response_logprobs: bool | None = None
    logprobs: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    seed: int | None = None
    response_mime_type: str | None = None
    response_schema: SchemaUnion | None = None
    response_json_schema: Any = None
    routing_config: GenerationConfigRoutingConfig | None = None
    model_selection_config: ModelSelectionConfig | None = None
    safety_settings: list[SafetySetting] | None = None
    tools: ToolListUnion | None = None
    tool_config: ToolConfig | None = None
    labels: dict[str, str] | None = None
    cached_content: str | None = None
    response_modalities: list[str] | None = None
    media_resolution: MediaResolution | None = None
    speech_config: str | SpeechConfig | None = None
    audio_timestamp: bool | None = None
    automatic_function_calling: AutomaticFunctionCallingConfig | None = None
    thinking_config: ThinkingConfig | None = None
    image_config: ImageConfig | None = None
    enable_enhanced_civic_answers: bool | None = None
    model_armor_config: ModelArmorConfig | None = None
    service_tier: ServiceTier | None = None
    audio_transcription_config: AudioTranscriptionConfig | None = None
    continuation_token: bytes | None = None
    automatic_continuation: bool | None = None
    generation_output_config: GenerationOutputConfig | None = None
    store: bool | None = None
