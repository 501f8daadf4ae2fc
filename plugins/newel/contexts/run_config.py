"""RunConfig: how one invocation runs, with the fields that plugins and live sessions read."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from pydantic import BaseModel, ValidationInfo, field_validator, model_validator

import newel_types as types
from newel_kernel import FeatureUnavailableError
from newel_kernel import RunConfig as KernelRunConfig

#: It loads with the first limit.
_read_limits = types.deferred("newel.contexts.limits", "read_limits")

__all__ = ["RunConfig", "ToolThreadPoolConfig"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from newel.contexts.limits import Limit

    Speech: TypeAlias = types.SpeechConfig
    Transcription: TypeAlias = types.AudioTranscriptionConfig
    RealtimeInput: TypeAlias = types.RealtimeInputConfig
    Proactivity: TypeAlias = types.ProactivityConfig
    Resumption: TypeAlias = types.SessionResumptionConfig
    Compression: TypeAlias = types.ContextWindowCompressionConfig
    Avatar: TypeAlias = types.AvatarConfig
    History: TypeAlias = types.HistoryConfig
    Translation: TypeAlias = types.TranslationConfig
    Limits: TypeAlias = Sequence[Limit]
else:  # `_LIVE_TYPES` names them
    Speech = Transcription = RealtimeInput = Proactivity = Resumption = Compression = object
    Avatar = History = Translation = Limits = object


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
_ON: Any = {}

#: Released fields that no part of newel reads yet -> what to do instead. They are refused, not ignored.
_UNREAD = {
    "support_cfc": "leave it out; function calls come in the models' answers",
    "tool_thread_pool_config": "set max_workers of the plugin tool_threads in the distribution's settings",
}


class RunConfig(KernelRunConfig):
    """The settings of one invocation. A misspelt field is refused."""

    #: Whether files in the user's message become artifacts, which the message then names.
    save_input_blobs_as_artifacts: bool = False
    #: Refused: function calls come in the models' answers.
    support_cfc: bool = False
    #: Refused: the setting `max_workers` of the plugin `tool_threads` says it.
    tool_thread_pool_config: ToolThreadPoolConfig | None = None
    #: What a live model answers with, such as ``AUDIO`` or ``TEXT``.
    response_modalities: list[str] | None = None
    #: The voice and the language of a live model.
    speech_config: Speech | None = None
    #: How a live model's speech is transcribed; None: it is not.
    output_audio_transcription: Transcription | None = _ON
    #: How the user's speech is transcribed; None: it is not.
    input_audio_transcription: Transcription | None = _ON
    #: How a live model hears that the user begins and ends.
    realtime_input_config: RealtimeInput | None = None
    #: Whether a live model answers to the tone of voice.
    enable_affective_dialog: bool | None = None
    #: Whether a live model may stay silent, or speak first.
    proactivity: Proactivity | None = None
    #: How a live session is taken up again after its connection was lost.
    session_resumption: Resumption | None = None
    #: How a live session goes on when its context is full.
    context_window_compression: Compression | None = None
    #: The face that a live model shows.
    avatar_config: Avatar | None = None
    #: Which part of the session a live model is told at the start.
    history_config: History | None = None
    #: Whether a live model tells when the user begins and ends to speak.
    explicit_vad_signal: bool | None = None
    #: What a live model translates into.
    translation_config: Translation | None = None
    #: What is said in a live session becomes artifacts; `save_live_audio` is the old name.
    save_live_blob: bool = False
    #: The old name of `save_live_blob`.
    save_live_audio: bool = False
    #: What may be spent, in addition to the distribution's limits: objects, or fields, of `newel.budgets.Limit`.
    budgets: Limits | None = None

    __signature__: ClassVar[Any] = types.FieldSignature()

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        cls.__signature__ = types.FieldSignature()  # pydantic has set its own

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

    @field_validator("budgets")
    @classmethod
    def _limits(cls, value: object) -> object:
        return None if value is None else _read_limits()(value)

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
