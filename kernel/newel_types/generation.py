"""Generation parameters of live sessions, and the routing of requests to models."""

from typing import TYPE_CHECKING, Any, Literal

from newel_types.wire import WireEnum, WireModel, late

if TYPE_CHECKING:
    from newel_types.config import MediaResolution, ThinkingConfig
    from newel_types.formats import ResponseFormat
    from newel_types.schema import Schema
    from newel_types.speech import AudioTranscriptionConfig, SpeechConfig, TranslationConfig
else:
    MediaResolution = late("config:MediaResolution")
    ThinkingConfig = late("config:ThinkingConfig")
    ResponseFormat = late("formats:ResponseFormat")
    Schema = late("schema:Schema")
    AudioTranscriptionConfig = late("speech:AudioTranscriptionConfig")
    SpeechConfig = late("speech:SpeechConfig")
    TranslationConfig = late("speech:TranslationConfig")


class FeatureSelectionPreference(WireEnum):
    """The preference for the choice of a model."""

    FEATURE_SELECTION_PREFERENCE_UNSPECIFIED = "FEATURE_SELECTION_PREFERENCE_UNSPECIFIED"
    PRIORITIZE_QUALITY = "PRIORITIZE_QUALITY"
    BALANCED = "BALANCED"
    PRIORITIZE_COST = "PRIORITIZE_COST"


class Modality(WireEnum):
    """A modality of answers."""

    MODALITY_UNSPECIFIED = "MODALITY_UNSPECIFIED"
    TEXT = "TEXT"
    IMAGE = "IMAGE"
    AUDIO = "AUDIO"
    VIDEO = "VIDEO"


class ModelSelectionConfig(WireModel):
    """How the service chooses a model."""

    feature_selection_preference: FeatureSelectionPreference | None = None


class GenerationConfigRoutingConfigAutoRoutingMode(WireModel):
    """Routing by a preference."""

    model_routing_preference: Literal["UNKNOWN", "PRIORITIZE_QUALITY", "BALANCED", "PRIORITIZE_COST"] | None = None


class GenerationConfigRoutingConfigManualRoutingMode(WireModel):
    """Routing to a named model."""

    model_name: str | None = None


class GenerationConfigRoutingConfig(WireModel):
    """How a request is routed to a model: automatically or by name."""

    auto_mode: GenerationConfigRoutingConfigAutoRoutingMode | None = None
    manual_mode: GenerationConfigRoutingConfigManualRoutingMode | None = None


class GenerationOutputConfig(WireModel):
    """Where large outputs are written."""

    output_uri_prefix: str | None = None


class GenerationConfig(WireModel):
    """Generation parameters as the wire nests them."""

    model_selection_config: ModelSelectionConfig | None = None
    response_json_schema: Any = None
    audio_timestamp: bool | None = None
    candidate_count: int | None = None
    enable_affective_dialog: bool | None = None
    frequency_penalty: float | None = None
    logprobs: int | None = None
    max_output_tokens: int | None = None
    media_resolution: MediaResolution | None = None
    presence_penalty: float | None = None
    response_logprobs: bool | None = None
    response_mime_type: str | None = None
    response_modalities: list[Modality] | None = None
    response_schema: Schema | None = None
    routing_config: GenerationConfigRoutingConfig | None = None
    seed: int | None = None
    speech_config: SpeechConfig | None = None
    stop_sequences: list[str] | None = None
    temperature: float | None = None
    thinking_config: ThinkingConfig | None = None
    top_k: float | None = None
    top_p: float | None = None
    enable_enhanced_civic_answers: bool | None = None
    response_format: list[ResponseFormat] | None = None
    translation_config: TranslationConfig | None = None
    audio_transcription_config: AudioTranscriptionConfig | None = None
