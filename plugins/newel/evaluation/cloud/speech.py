"""Speech by Google Cloud's text-to-speech."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import wave

from newel.evaluation.cloud.client import CloudClient, CloudError
from newel_types import GenerateContentConfig, SpeechConfig

#: Selects this service if a speech model's address is expected.
CLOUD_TTS = "cloud_tts"
_LANGUAGE, _VOICE = "en-US", "en-US-Studio-O"


async def spoken_by_the_cloud(text: str, config: GenerateContentConfig, rate: int) -> bytes:
    """`text` as 16-bit mono PCM of `rate`, in the voice of the configuration; a CloudError if it cannot be made.

    NEWEL_TTS_BASE_URL overrides the service's address.
    """
    own = os.environ.get("NEWEL_TTS_BASE_URL", "")
    client = CloudClient(own or "https://texttospeech.googleapis.com", own_host=bool(own))
    language, voice = _voice(config)
    request = {
        "input": {"text": text},
        "voice": {"languageCode": language, "name": voice},
        "audioConfig": {"audioEncoding": "LINEAR16", "sampleRateHertz": rate},
    }
    answer = await asyncio.to_thread(client.json, "POST", "/v1/text:synthesize", request)
    data = base64.b64decode(str(answer.get("audioContent") or ""))
    if not data.startswith(b"RIFF"):
        return data
    try:
        with wave.open(io.BytesIO(data)) as file:
            samples: bytes = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise CloudError(f"text-to-speech returned audio that cannot be read: {error}") from None
    return samples


def _voice(config: GenerateContentConfig) -> tuple[str, str]:
    speech = config.speech_config
    if isinstance(speech, str) or speech is None:
        return _LANGUAGE, speech or _VOICE
    assert isinstance(speech, SpeechConfig)
    voice = speech.voice_config.prebuilt_voice_config if speech.voice_config is not None else None
    return speech.language_code or _LANGUAGE, (voice.voice_name if voice is not None else None) or _VOICE
