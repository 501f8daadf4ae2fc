"""LlmAudioUserSimulator: a simulated user who speaks what another simulator writes."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from newel.evaluation.cloud.speech import CLOUD_TTS, spoken_by_the_cloud
from newel.evaluation.judges.model_calls import ask, prompt
from newel.evaluation.simulation.llm_backed_user_simulator import LlmBackedUserSimulator, LlmBackedUserSimulatorConfig
from newel.evaluation.simulation.user_simulator import (
    BaseUserSimulatorConfig,
    NextUserMessage,
    Status,
    UserSimulator,
)
from newel.events.text import text_of
from newel.models.wire.sounds import Resampler, rate_of
from newel_kernel import Event, ModelError
from newel_types import Blob, Content, GenerateContentConfig, Part, PrebuiltVoiceConfig, SpeechConfig, VoiceConfig

#: The sample rate that live models take, in Hz.
RATE = 16_000
#: The rate of speech whose MIME type names none: the usual rate of speech models.
_SPEECH_RATE = 24_000


def _voice() -> GenerateContentConfig:
    voice = VoiceConfig(prebuilt_voice_config=PrebuiltVoiceConfig(voice_name="en-US-Studio-O"))
    return GenerateContentConfig(speech_config=SpeechConfig(voice_config=voice, language_code="en-US"))


class LlmAudioUserSimulatorConfig(LlmBackedUserSimulatorConfig):
    """Which model speaks, and how; the other fields say which model writes.

    `audio_model` is an address, as an agent's model is, or ``cloud_tts``: Google Cloud's text-to-speech.
    """

    type: Literal["llm_audio"] = "llm_audio"
    audio_model: str = CLOUD_TTS
    audio_model_configuration: GenerateContentConfig = Field(default_factory=_voice)
    #: Whether a message has the words with the sound; a live agent is sent the sound alone.
    include_text_with_audio: bool = True


class LlmAudioUserSimulator(UserSimulator):
    """Speaks the messages of `text_simulator`; without one, those of a model that follows the scenario."""

    config_type: ClassVar[type[BaseUserSimulatorConfig]] = LlmAudioUserSimulatorConfig
    #: It also speaks fixed conversations, which it gets as `text_simulator`.
    speaks_for_others: ClassVar[bool] = True

    def __init__(
        self,
        *,
        config: BaseUserSimulatorConfig,
        text_simulator: UserSimulator | None = None,
        conversation_scenario: object = None,
    ) -> None:
        super().__init__(config)
        self.settings = LlmAudioUserSimulatorConfig.model_validate(config.model_dump(exclude_unset=True))
        if text_simulator is None:
            own = self.settings.model_dump(exclude_unset=True, include=set(LlmBackedUserSimulatorConfig.model_fields))
            text_config = LlmBackedUserSimulatorConfig.model_validate({**own, "type": None})
            text_simulator = LlmBackedUserSimulator(
                config=text_config,
                conversation_scenario=conversation_scenario,  # type: ignore[arg-type]  # as it was given
            )
        self._text = text_simulator

    async def get_next_user_message(self, events: list[Event]) -> NextUserMessage:
        """The next message, spoken; a RuntimeError if it cannot be spoken."""
        message = await self._text.get_next_user_message(events)
        if message.status is not Status.SUCCESS or message.user_message is None:
            return message
        words = text_of(message.user_message)
        if not words:
            return message
        return NextUserMessage(status=Status.SUCCESS, user_message=await self.to_audio_content(words))

    async def to_audio_content(self, text: str) -> Content:
        """`text` as a message of the user: 16-bit PCM at 16 kHz, after the text if the config includes it."""
        data, rate = await self._speech(text)
        if not data:
            raise RuntimeError(f"the model {self.settings.audio_model!r} that speaks for the user gave no audio")
        sound = Blob(mime_type=f"audio/pcm;rate={RATE}", data=_at(data, rate))
        words = [Part(text=text)] if self.settings.include_text_with_audio else []
        return Content(role="user", parts=[*words, Part(inline_data=sound)])

    async def _speech(self, text: str) -> tuple[bytes, int]:
        """Samples and their rate."""
        settings = self.settings
        if settings.audio_model == CLOUD_TTS:
            return await spoken_by_the_cloud(text, settings.audio_model_configuration, RATE), RATE
        try:
            answer = await ask(
                settings.audio_model, prompt(text), settings.audio_model_configuration, role="user speech"
            )
        except ModelError as error:
            raise RuntimeError(f"the model that speaks for the user failed: {error}") from error
        blobs = [part.inline_data for part in (answer.content.parts or () if answer.content is not None else ())]
        sounds = [blob for blob in blobs if blob is not None and blob.data]
        if not sounds:
            return b"", RATE
        mime = sounds[0].mime_type or ""
        rate = rate_of(mime)
        if rate is None:
            raise RuntimeError(f"the model {settings.audio_model!r} speaks as {mime!r}; audio/pcm is needed")
        has_rate = "rate=" in mime
        return b"".join(blob.data or b"" for blob in sounds), rate if has_rate else _SPEECH_RATE


def _at(data: bytes, rate: int) -> bytes:
    """Samples of `rate` at the rate that live models take."""
    whole = data[: len(data) - len(data) % 2]
    return whole if rate == RATE else Resampler(rate, RATE).resample(whole)
