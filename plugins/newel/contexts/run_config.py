"""RunConfig: how one invocation runs, with what plugins and live sessions look at."""

from __future__ import annotations

from pydantic import BaseModel, ValidationInfo, field_validator

import newel_types as types
from newel_kernel import FeatureUnavailableError
from newel_kernel import RunConfig as KernelRunConfig

__all__ = ["RunConfig", "ToolThreadPoolConfig"]


class ToolThreadPoolConfig(BaseModel, defer_build=True):
    """Run synchronous tools in a pool of at most `max_workers` threads."""

    max_workers: int = 4


#: Fields whose values are types of the live API; those load only where one is set.
_LIVE_TYPES = {
    "speech_config": "SpeechConfig",
    "output_audio_transcription": "AudioTranscriptionConfig",
    "input_audio_transcription": "AudioTranscriptionConfig",
    "realtime_input_config": "RealtimeInputConfig",
    "proactivity": "ProactivityConfig",
    "session_resumption": "SessionResumptionConfig",
    "context_window_compression": "ContextWindowCompressionConfig",
}

#: Released fields that no part of newel reads yet -> what to do instead. To ignore them would be worse than to say so.
_UNREAD = {
    "support_cfc": "leave it out; function calls come in the models' answers",
    "tool_thread_pool_config": "set max_workers of the plugin tool_threads in the distribution's settings",
}


class RunConfig(KernelRunConfig):
    """The settings of one invocation. A misspelt field is refused."""

    save_input_blobs_as_artifacts: bool = False
    support_cfc: bool = False
    tool_thread_pool_config: ToolThreadPoolConfig | None = None
    response_modalities: list[str] | None = None
    speech_config: object = None
    output_audio_transcription: object = None
    input_audio_transcription: object = None
    realtime_input_config: object = None
    enable_affective_dialog: bool | None = None
    proactivity: object = None
    session_resumption: object = None
    context_window_compression: object = None
    #: Only a live session has live audio, so no other one looks at these two.
    save_live_blob: bool = False
    save_live_audio: bool = False

    @field_validator(*_UNREAD)
    @classmethod
    def _is_read(cls, value: object, info: ValidationInfo) -> object:
        if value:
            name = str(info.field_name)
            raise FeatureUnavailableError(f"RunConfig.{name} has no effect in this version: {_UNREAD[name]}")
        return value

    @field_validator(*_LIVE_TYPES)
    @classmethod
    def _live_type(cls, value: object, info: ValidationInfo) -> object:
        if value is None:
            return None
        return getattr(types, _LIVE_TYPES[str(info.field_name)]).model_validate(value)
