"""RunConfig: how one invocation runs, with the fields that plugins and live sessions read."""

from __future__ import annotations

import warnings

from pydantic import BaseModel, ValidationInfo, field_validator, model_validator

import newel_types as types
from newel_kernel import FeatureUnavailableError
from newel_kernel import RunConfig as KernelRunConfig

__all__ = ["RunConfig", "ToolThreadPoolConfig"]


class ToolThreadPoolConfig(BaseModel, defer_build=True):
    """Run synchronous tools in a pool of at most `max_workers` threads."""

    max_workers: int = 4


#: Fields whose values are types of the live API; the types load only if a field is set.
_LIVE_TYPES = {
    "speech_config": "SpeechConfig",
    "output_audio_transcription": "AudioTranscriptionConfig",
    "input_audio_transcription": "AudioTranscriptionConfig",
    "realtime_input_config": "RealtimeInputConfig",
    "proactivity": "ProactivityConfig",
    "session_resumption": "SessionResumptionConfig",
    "context_window_compression": "ContextWindowCompressionConfig",
    "avatar_config": "AvatarConfig",
    "history_config": "HistoryConfig",
    "translation_config": "TranslationConfig",
}
#: In a live session speech is transcribed unless the field is None: history keeps the words.
_TRANSCRIPTIONS = ("output_audio_transcription", "input_audio_transcription")
#: The value of a transcription without settings, in a dump.
_ON: dict[str, object] = {}

#: Released fields that no part of newel reads yet -> what to do instead. They are refused, not ignored.
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
    output_audio_transcription: object = _ON
    input_audio_transcription: object = _ON
    realtime_input_config: object = None
    enable_affective_dialog: bool | None = None
    proactivity: object = None
    session_resumption: object = None
    context_window_compression: object = None
    avatar_config: object = None
    history_config: object = None
    explicit_vad_signal: bool | None = None
    translation_config: object = None
    #: What is said in a live session becomes artifacts; `save_live_audio` is the old name.
    save_live_blob: bool = False
    save_live_audio: bool = False

    @model_validator(mode="before")
    @classmethod
    def _old_name(cls, data: object) -> object:
        if isinstance(data, dict) and data.get("save_live_audio") and not data.get("save_live_blob"):
            text = "RunConfig.save_live_audio is deprecated: use save_live_blob"
            warnings.warn(text, DeprecationWarning, stacklevel=3)
            return {**data, "save_live_blob": True}
        return data

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


def _transcription(name: str) -> property:
    """The field `name`, which is on unless it is set otherwise; its type loads when the field is read."""

    def get(config: RunConfig) -> object:
        value: object = config.__dict__[name]
        return types.AudioTranscriptionConfig() if value == _ON else value

    def set_(config: RunConfig, value: object) -> None:
        config.__dict__[name] = value
        config.model_fields_set.add(name)

    return property(get, set_)


def unset() -> RunConfig:
    """A configuration with no field set, made without validation: every run without one gets its own."""
    new = object.__new__(RunConfig)
    new.__dict__.update(_DEFAULTS)
    _assign(new, "__pydantic_fields_set__", set())
    _assign(new, "__pydantic_extra__", None)
    _assign(new, "__pydantic_private__", None)
    return new


for _name in _TRANSCRIPTIONS:  # not in the class: pydantic would take them for its fields
    setattr(RunConfig, _name, _transcription(_name))

#: Not taken from an object: making one would build the validator while newel is imported.
_DEFAULTS = {name: field.get_default() for name, field in RunConfig.model_fields.items()}
_assign = object.__setattr__
