"""What the service sends in a live session."""

from typing import TYPE_CHECKING

from newel_types.content import Content, FunctionCall, Part
from newel_types.wire import ResponseModel, WireEnum, late

if TYPE_CHECKING:
    from newel_types.grounding import GroundingMetadata
    from newel_types.reasons import TurnCompleteReason
    from newel_types.response import UrlContextMetadata
    from newel_types.speech import VoiceConsentSignature
    from newel_types.transcription import Transcription
    from newel_types.usage import UsageMetadata
else:
    GroundingMetadata = late("grounding:GroundingMetadata")
    TurnCompleteReason = late("reasons:TurnCompleteReason")
    UrlContextMetadata = late("response:UrlContextMetadata")
    VoiceConsentSignature = late("speech:VoiceConsentSignature")
    Transcription = late("transcription:Transcription")
    UsageMetadata = late("usage:UsageMetadata")


class InteractionStatus(WireEnum):
    """What the interaction waits for."""

    INTERACTION_STATUS_UNSPECIFIED = "INTERACTION_STATUS_UNSPECIFIED"
    IN_PROGRESS = "IN_PROGRESS"
    REQUIRES_ACTION = "REQUIRES_ACTION"
    IDLE = "IDLE"


class VadSignalType(WireEnum):
    """Start or end of speech."""

    VAD_SIGNAL_TYPE_UNSPECIFIED = "VAD_SIGNAL_TYPE_UNSPECIFIED"
    VAD_SIGNAL_TYPE_SOS = "VAD_SIGNAL_TYPE_SOS"
    VAD_SIGNAL_TYPE_EOS = "VAD_SIGNAL_TYPE_EOS"


class VoiceActivityType(WireEnum):
    """Start or end of the user's activity."""

    TYPE_UNSPECIFIED = "TYPE_UNSPECIFIED"
    ACTIVITY_START = "ACTIVITY_START"
    ACTIVITY_END = "ACTIVITY_END"


class LiveServerSetupComplete(ResponseModel):
    """The session is ready."""

    session_id: str | None = None
    voice_consent_signature: VoiceConsentSignature | None = None


class LiveServerContent(ResponseModel):
    """What the model says, and the state of its turn."""

    model_turn: Content | None = None
    turn_complete: bool | None = None
    interrupted: bool | None = None
    grounding_metadata: GroundingMetadata | None = None
    generation_complete: bool | None = None
    input_transcription: Transcription | None = None
    output_transcription: Transcription | None = None
    url_context_metadata: UrlContextMetadata | None = None
    turn_complete_reason: TurnCompleteReason | None = None
    waiting_for_input: bool | None = None
    interim_input_transcription: Transcription | None = None
    interaction_status: InteractionStatus | None = None


class LiveServerToolCall(ResponseModel):
    """Tool calls to answer."""

    function_calls: list[FunctionCall] | None = None


class LiveServerToolCallCancellation(ResponseModel):
    """Tool calls (by id) that need no answer any more."""

    ids: list[str] | None = None


class LiveServerGoAway(ResponseModel):
    """The connection closes soon; `time_left` like '3.5s'."""

    time_left: str | None = None


class LiveServerSessionResumptionUpdate(ResponseModel):
    """The handle by which the session can be resumed."""

    new_handle: str | None = None
    resumable: bool | None = None
    last_consumed_client_message_index: int | None = None


class VoiceActivityDetectionSignal(ResponseModel):
    """A signal of the detection of speech."""

    vad_signal_type: VadSignalType | None = None


class VoiceActivity(ResponseModel):
    """The user's activity as the service detected it."""

    voice_activity_type: VoiceActivityType | None = None
    audio_offset: str | None = None


class LiveServerMessage(ResponseModel):
    """One message of the service; one of its fields is set."""

    setup_complete: LiveServerSetupComplete | None = None
    server_content: LiveServerContent | None = None
    tool_call: LiveServerToolCall | None = None
    tool_call_cancellation: LiveServerToolCallCancellation | None = None
    usage_metadata: UsageMetadata | None = None
    go_away: LiveServerGoAway | None = None
    session_resumption_update: LiveServerSessionResumptionUpdate | None = None
    voice_activity_detection_signal: VoiceActivityDetectionSignal | None = None
    voice_activity: VoiceActivity | None = None

    @property
    def text(self) -> str | None:
        """The text of the model's turn without its thoughts, or None."""
        return "".join(part.text for part in self._parts() if part.text and not part.thought) or None

    @property
    def data(self) -> bytes | None:
        """The inline bytes of the model's turn, joined, or None."""
        blobs = (part.inline_data for part in self._parts())
        return b"".join(blob.data for blob in blobs if blob and blob.data) or None

    def _parts(self) -> list[Part]:
        turn = self.server_content.model_turn if self.server_content else None
        return (turn.parts if turn else None) or []
