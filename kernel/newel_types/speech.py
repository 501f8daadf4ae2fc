"""Voices of spoken answers and transcription of speech."""

from newel_types.wire import WireEnum, WireModel


class VoiceConsentSignature(WireModel):
    """Proof that a speaker's consent was checked."""

    signature: str | None = None


class ReplicatedVoiceConfig(WireModel):
    """A voice cloned from a sample (24 kHz WAV)."""

    mime_type: str | None = None
    voice_sample_audio: bytes | None = None
    consent_audio: bytes | None = None
    voice_consent_signature: VoiceConsentSignature | None = None


class PrebuiltVoiceConfig(WireModel):
    """One of the service's voices, by name."""

    voice_name: str | None = None


class VoiceConfig(WireModel):
    """The voice of a speaker."""

    replicated_voice_config: ReplicatedVoiceConfig | None = None
    prebuilt_voice_config: PrebuiltVoiceConfig | None = None
    voice: str | None = None


class SpeakerVoiceConfig(WireModel):
    """The voice of one named speaker."""

    speaker: str | None = None
    voice_config: VoiceConfig | None = None


class MultiSpeakerVoiceConfig(WireModel):
    """The voices of several speakers."""

    speaker_voice_configs: list[SpeakerVoiceConfig] | None = None


class SpeechConfig(WireModel):
    """How answers are spoken: one voice or several, and the language."""

    voice_config: VoiceConfig | None = None
    language_code: str | None = None
    multi_speaker_voice_config: MultiSpeakerVoiceConfig | None = None


class AudioTranscriptionConfigMode(WireEnum):
    """Whether a transcript is verbatim or edited."""

    MODE_UNSPECIFIED = "MODE_UNSPECIFIED"
    VERBATIM = "VERBATIM"
    SMART = "SMART"


class LanguageAuto(WireModel):
    """Asks for detection of the language."""


class LanguageHints(WireModel):
    """Languages that speech is probably in."""

    language_codes: list[str] | None = None


class AudioTranscriptionConfig(WireModel):
    """How speech is transcribed."""

    language_codes: list[str] | None = None
    language_auto: LanguageAuto | None = None
    language_hints: LanguageHints | None = None
    custom_vocabulary: list[str] | None = None
    adaptation_phrases: list[str] | None = None
    word_timestamp: bool | None = None
    diarization: bool | None = None
    mode: AudioTranscriptionConfigMode | None = None
    source_text: str | None = None


class TranslationConfig(WireModel):
    """Live translation of speech."""

    echo_target_language: bool | None = None
    target_language_code: str | None = None
