"""The configuration of a live session."""

from typing import TYPE_CHECKING

from newel_types.generation import GenerationConfig, Modality
from newel_types.unions import ContentUnion, ToolListUnion
from newel_types.wire import WireEnum, WireModel, late

if TYPE_CHECKING:
    from newel_types.config import MediaResolution, ThinkingConfig
    from newel_types.http import HttpOptions
    from newel_types.safety import SafetySetting
    from newel_types.speech import AudioTranscriptionConfig, SpeechConfig, TranslationConfig
else:
    MediaResolution = late("config:MediaResolution")
    ThinkingConfig = late("config:ThinkingConfig")
    HttpOptions = late("http:HttpOptions")
    SafetySetting = late("safety:SafetySetting")
    AudioTranscriptionConfig = late("speech:AudioTranscriptionConfig")
    SpeechConfig = late("speech:SpeechConfig")
    TranslationConfig = late("speech:TranslationConfig")


class StartSensitivity(WireEnum):
    """How readily speech is taken to start."""

    START_SENSITIVITY_UNSPECIFIED = "START_SENSITIVITY_UNSPECIFIED"
    START_SENSITIVITY_HIGH = "START_SENSITIVITY_HIGH"
    START_SENSITIVITY_LOW = "START_SENSITIVITY_LOW"


class EndSensitivity(WireEnum):
    """How readily speech is taken to end."""

    END_SENSITIVITY_UNSPECIFIED = "END_SENSITIVITY_UNSPECIFIED"
    END_SENSITIVITY_HIGH = "END_SENSITIVITY_HIGH"
    END_SENSITIVITY_LOW = "END_SENSITIVITY_LOW"


class ActivityHandling(WireEnum):
    """Whether the user's speech interrupts the model."""

    ACTIVITY_HANDLING_UNSPECIFIED = "ACTIVITY_HANDLING_UNSPECIFIED"
    START_OF_ACTIVITY_INTERRUPTS = "START_OF_ACTIVITY_INTERRUPTS"
    NO_INTERRUPTION = "NO_INTERRUPTION"


class TurnCoverage(WireEnum):
    """Which input belongs to a turn."""

    TURN_COVERAGE_UNSPECIFIED = "TURN_COVERAGE_UNSPECIFIED"
    TURN_INCLUDES_ONLY_ACTIVITY = "TURN_INCLUDES_ONLY_ACTIVITY"
    TURN_INCLUDES_ALL_INPUT = "TURN_INCLUDES_ALL_INPUT"
    TURN_INCLUDES_AUDIO_ACTIVITY_AND_ALL_VIDEO = "TURN_INCLUDES_AUDIO_ACTIVITY_AND_ALL_VIDEO"


class AutomaticActivityDetection(WireModel):
    """Detection of the user's speech by the service; durations in milliseconds."""

    disabled: bool | None = None
    start_of_speech_sensitivity: StartSensitivity | None = None
    end_of_speech_sensitivity: EndSensitivity | None = None
    prefix_padding_ms: int | None = None
    silence_duration_ms: int | None = None


class RealtimeInputConfig(WireModel):
    """How realtime input is taken."""

    automatic_activity_detection: AutomaticActivityDetection | None = None
    activity_handling: ActivityHandling | None = None
    turn_coverage: TurnCoverage | None = None
    interim_transcript_timestamp_enabled: bool | None = None


class SessionResumptionConfig(WireModel):
    """Resumes the session of `handle`, or asks for handles."""

    handle: str | None = None
    transparent: bool | None = None


class SlidingWindow(WireModel):
    """Drops old turns until the context fits."""

    target_tokens: int | None = None


class ContextWindowCompressionConfig(WireModel):
    """Compresses the context once it has a number of tokens."""

    trigger_tokens: int | None = None
    sliding_window: SlidingWindow | None = None


class ProactivityConfig(WireModel):
    """Lets the model stay silent or speak first."""

    proactive_audio: bool | None = None
    proactive_video: bool | None = None


class HistoryConfig(WireModel):
    """Whether the first client content is history."""

    initial_history_in_client_content: bool | None = None


class CustomizedAvatar(WireModel):
    """An avatar made from an image."""

    image_mime_type: str | None = None
    image_data: bytes | None = None


class AvatarConfig(WireModel):
    """The avatar that speaks."""

    avatar_name: str | None = None
    customized_avatar: CustomizedAvatar | None = None
    audio_bitrate_bps: int | None = None
    video_bitrate_bps: int | None = None


class LiveConnectConfig(WireModel):
    """The configuration of a live session."""

    http_options: HttpOptions | None = None
    generation_config: GenerationConfig | None = None
    response_modalities: list[Modality] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    max_output_tokens: int | None = None
    media_resolution: MediaResolution | None = None
    seed: int | None = None
    speech_config: SpeechConfig | None = None
    thinking_config: ThinkingConfig | None = None
    enable_affective_dialog: bool | None = None
    system_instruction: ContentUnion | None = None
    tools: ToolListUnion | None = None
    session_resumption: SessionResumptionConfig | None = None
    input_audio_transcription: AudioTranscriptionConfig | None = None
    output_audio_transcription: AudioTranscriptionConfig | None = None
    realtime_input_config: RealtimeInputConfig | None = None
    context_window_compression: ContextWindowCompressionConfig | None = None
    proactivity: ProactivityConfig | None = None
    explicit_vad_signal: bool | None = None
    history_config: HistoryConfig | None = None
    avatar_config: AvatarConfig | None = None
    safety_settings: list[SafetySetting] | None = None
    translation_config: TranslationConfig | None = None
    labels: dict[str, str] | None = None
