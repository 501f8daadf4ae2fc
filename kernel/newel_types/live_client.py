"""What the client sends in a live session."""

from typing import TYPE_CHECKING

from newel_types.content import Content, FunctionResponse
from newel_types.live import (
    AvatarConfig,
    ContextWindowCompressionConfig,
    HistoryConfig,
    LiveConnectConfig,
    ProactivityConfig,
    SessionResumptionConfig,
)
from newel_types.media import Blob
from newel_types.unions import ContentUnion, ToolListUnion
from newel_types.wire import WireModel, late

if TYPE_CHECKING:
    from newel_types.generation import GenerationConfig
    from newel_types.safety import SafetySetting
    from newel_types.speech import AudioTranscriptionConfig
else:
    GenerationConfig = late("generation:GenerationConfig")
    SafetySetting = late("safety:SafetySetting")
    AudioTranscriptionConfig = late("speech:AudioTranscriptionConfig")


class ActivityStart(WireModel):
    """The user starts to speak; a client sends it if detection is off."""


class ActivityEnd(WireModel):
    """The user stops speaking; a client sends it if detection is off."""


class LiveClientSetup(WireModel):
    """The first message of a session."""

    model: str | None = None
    generation_config: GenerationConfig | None = None
    system_instruction: ContentUnion | None = None
    tools: ToolListUnion | None = None
    session_resumption: SessionResumptionConfig | None = None
    context_window_compression: ContextWindowCompressionConfig | None = None
    input_audio_transcription: AudioTranscriptionConfig | None = None
    output_audio_transcription: AudioTranscriptionConfig | None = None
    proactivity: ProactivityConfig | None = None
    explicit_vad_signal: bool | None = None
    history_config: HistoryConfig | None = None
    avatar_config: AvatarConfig | None = None
    safety_settings: list[SafetySetting] | None = None
    labels: dict[str, str] | None = None


class LiveClientContent(WireModel):
    """Turns of the conversation."""

    turns: list[Content] | None = None
    turn_complete: bool | None = None


class LiveClientRealtimeInput(WireModel):
    """Realtime media and text."""

    media_chunks: list[Blob] | None = None
    audio: Blob | None = None
    audio_stream_end: bool | None = None
    video: Blob | None = None
    text: str | None = None
    activity_start: ActivityStart | None = None
    activity_end: ActivityEnd | None = None


class LiveClientToolResponse(WireModel):
    """The answers to tool calls."""

    function_responses: list[FunctionResponse] | None = None


class LiveClientContextUpdateTools(WireModel):
    """Tools that replace the session's."""

    tools: ToolListUnion | None = None


class LiveClientContextUpdate(WireModel):
    """A change of the instruction or the tools in the session."""

    system_instruction: ContentUnion | None = None
    tools: LiveClientContextUpdateTools | None = None


class LiveClientMessage(WireModel):
    """One message of the client; one of its fields is set."""

    setup: LiveClientSetup | None = None
    client_content: LiveClientContent | None = None
    realtime_input: LiveClientRealtimeInput | None = None
    tool_response: LiveClientToolResponse | None = None
    context_update: LiveClientContextUpdate | None = None


class LiveConnectParameters(WireModel):
    """The model and the configuration of a live session."""

    model: str | None = None
    config: LiveConnectConfig | None = None
