"""Session: the configuration of a live connection, in the form of the Realtime API."""

from __future__ import annotations

from dataclasses import dataclass

from newel.models.live import LIVE_CONFIG
from newel.models.openai.declarations import Choice, Declarations
from newel.models.openai.thinking import Report
from newel.models.wire.instruction import texts_of
from newel.models.wire.names import Names
from newel_kernel import Json, LlmRequest
from newel_types import (
    ActivityHandling,
    AudioTranscriptionConfig,
    EndSensitivity,
    LiveConnectConfig,
    Modality,
    RealtimeInputConfig,
    StartSensitivity,
)

#: The only rate of 16-bit PCM, in Hz.
RATE = 24_000
_PCM = {"type": "audio/pcm", "rate": RATE}
_MOST_TOKENS = 4_096
#: How loud sound must be to count as speech, from 0 to 1; and how much silence ends speech, in milliseconds.
_THRESHOLDS = {StartSensitivity.START_SENSITIVITY_HIGH: 0.3, StartSensitivity.START_SENSITIVITY_LOW: 0.7}
_SILENCES = {EndSensitivity.END_SENSITIVITY_HIGH: 300, EndSensitivity.END_SENSITIVITY_LOW: 900}
#: Settings that the service does not have.
_UNSUPPORTED = (
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "media_resolution",
    "thinking_config",
    "enable_affective_dialog",
    "session_resumption",
    "context_window_compression",
    "proactivity",
    "avatar_config",
    "safety_settings",
    "translation_config",
)


def session(request: LlmRequest, names: Names, report: Report, transcriber: str) -> Json:
    """The session of a ``session.update``. `transcriber`: the model that transcribes what the user says."""
    config = request.stash[LIVE_CONFIG]
    for name in _UNSUPPORTED:
        if getattr(config, name, None) is not None or getattr(request.config, name, None) is not None:
            report(name, f"the Realtime API has no {name}; it is left out")
    declared = Declarations(request.config, names, report, strict=False)
    fields: Json = {
        "type": "realtime",
        "output_modalities": ["text"] if wants_text(config) else ["audio"],
        "instructions": "\n\n".join(texts_of(request.config.system_instruction)),
        "audio": {"input": _input(config, transcriber), "output": _output(request, config)},
        "tools": [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters or {"type": "object", "properties": {}},
            }
            for tool in declared.tools
        ],
    }
    choice = declared.choice(request.config, forced=True, report=report)
    if choice is not None:
        fields["tool_choice"] = _choice(choice, report)
    most = config.max_output_tokens or request.config.max_output_tokens
    if most is not None:
        fields["max_output_tokens"] = min(most, _MOST_TOKENS)
    return fields


def wants_text(config: LiveConnectConfig) -> bool:
    """Whether the answers are text; otherwise they are sound with a transcription."""
    return config.response_modalities == [Modality.TEXT]


@dataclass(frozen=True, slots=True)
class Manner:
    """The settings of a session that the client has to act on."""

    #: The client says when the user speaks.
    manual: bool
    #: The model stops when the user speaks.
    interrupts: bool
    #: The model's speech is passed on as text as well.
    transcribed: bool
    #: The consumer is notified when the user begins and stops speaking.
    reports_activity: bool
    #: The silence that ends the user's speech, in milliseconds; None: the service's default.
    silence_ms: int | None
    #: What the user says is transcribed.
    hears: bool = False


def manner(config: LiveConnectConfig) -> Manner:
    """The manner that a live configuration sets."""
    realtime = config.realtime_input_config or RealtimeInputConfig()
    detection = realtime.automatic_activity_detection
    return Manner(
        manual=detection is not None and bool(detection.disabled),
        interrupts=realtime.activity_handling is not ActivityHandling.NO_INTERRUPTION,
        transcribed=config.output_audio_transcription is not None,
        reports_activity=bool(config.explicit_vad_signal),
        silence_ms=detection.silence_duration_ms if detection is not None else None,
        hears=config.input_audio_transcription is not None,
    )


def _input(config: LiveConnectConfig, transcriber: str) -> Json:
    fields: Json = {"format": _PCM, "transcription": None}
    if config.input_audio_transcription is not None:
        fields["transcription"] = _transcription(config.input_audio_transcription, transcriber)
    if config.realtime_input_config is not None:
        fields["turn_detection"] = _detection(config.realtime_input_config, manner(config))
    return fields


def _transcription(config: AudioTranscriptionConfig, transcriber: str) -> Json:
    hints = config.language_hints.language_codes if config.language_hints is not None else None
    languages = config.language_codes or hints or []
    fields: Json = {"model": transcriber}
    if len(languages) == 1:
        fields["language"] = languages[0].partition("-")[0]
    if words := config.custom_vocabulary or config.adaptation_phrases:
        fields["prompt"] = ", ".join(words)
    return fields


def _detection(config: RealtimeInputConfig, behaviour: Manner) -> Json | None:
    if behaviour.manual:
        return None
    fields: Json = {"type": "server_vad", "interrupt_response": behaviour.interrupts}
    detection = config.automatic_activity_detection
    if detection is None:
        return fields
    start, end = detection.start_of_speech_sensitivity, detection.end_of_speech_sensitivity
    values = {
        "threshold": _THRESHOLDS.get(start) if start is not None else None,
        "prefix_padding_ms": detection.prefix_padding_ms,
        "silence_duration_ms": detection.silence_duration_ms or (_SILENCES.get(end) if end is not None else None),
    }
    return fields | {name: value for name, value in values.items() if value is not None}


def _output(request: LlmRequest, config: LiveConnectConfig) -> Json:
    fields: Json = {"format": _PCM}
    speech = config.speech_config or request.config.speech_config
    voice = getattr(getattr(speech, "voice_config", None), "prebuilt_voice_config", None)
    if voice is not None and voice.voice_name:
        fields["voice"] = voice.voice_name.lower()
    return fields


def _choice(choice: Choice, report: Report) -> str | Json:
    if choice.mode == "required" and len(choice.names) == 1:
        return {"type": "function", "name": choice.names[0]}
    if choice.names:
        report(
            "allowed_function_names",
            "the Realtime API has no choice among several tools; the model may call any tool",
        )
    return choice.mode
