"""WAV: raw audio as a file that every player knows."""

from __future__ import annotations

import io
import re
import wave

_RATE = re.compile(r"rate=(\d+)")
_DEFAULT_RATE = 24000


def rate_of(mime_type: str) -> int:
    """The sample rate that a MIME type names (``audio/pcm;rate=16000``), in Hz; 24,000 if it names none."""
    match = _RATE.search(mime_type)
    return int(match[1]) if match else _DEFAULT_RATE


def as_wav(data: bytes, mime_type: str) -> tuple[bytes, str]:
    """16-bit mono PCM as a WAV file, and its MIME type; data that is not PCM is unchanged."""
    if mime_type.partition(";")[0].strip().lower() not in ("audio/pcm", "audio/l16", "audio/x-raw"):
        return data, mime_type
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate_of(mime_type))
        out.writeframes(data)
    return file.getvalue(), "audio/wav"
