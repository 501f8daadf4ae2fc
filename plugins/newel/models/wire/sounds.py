"""Sounds: 16-bit PCM at the rate that a service wants, and histories without transcribed sound."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable
from functools import lru_cache
from math import gcd
from sys import byteorder

from newel_types import Blob, Content, Part

#: The artifacts in which a session keeps its sound.
_RECORDING = re.compile(r"artifact://.*/_adk_live/")
_RATE = re.compile(r";\s*rate=(\d+)")
#: The rate of sound whose MIME type has none.
DEFAULT_RATE = 16_000


def without_sound(contents: Iterable[Content]) -> list[Content]:
    """Contents without sound and the files in which a session keeps it: it was transcribed, and no turn can hold it."""
    pairs = ((content, [part for part in content.parts or () if not _is_sound(part)]) for content in contents)
    return [content.model_copy(update={"parts": parts}) for content, parts in pairs if parts]


@lru_cache(maxsize=64)
def rate_of(mime: str) -> int | None:
    """The sample rate of 16-bit PCM in Hz; None if the MIME type is not PCM."""
    if mime.partition(";")[0].strip().lower() not in ("audio/pcm", "audio/l16", "audio/x-raw"):
        return None
    match = _RATE.search(mime)
    return int(match[1]) if match else DEFAULT_RATE


class Resampler:
    """16-bit PCM of one rate at another one, by linear interpolation; chunks join without a seam."""

    def __init__(self, rate: int, target: int) -> None:
        common = gcd(rate, target)
        #: `_source` samples become `_target` samples.
        self._source, self._target = rate // common, target // common
        self._rest: array[int] = array("h")

    def resample(self, data: bytes) -> bytes:
        """The samples that can be made by now; up to one block waits for more data."""
        samples = array("h", data)
        if byteorder == "big":
            samples.byteswap()
        samples = self._rest + samples
        blocks = (len(samples) - 1) // self._source
        if blocks <= 0:
            self._rest = samples
            return b""
        end = blocks * self._source
        out = array("h", bytes(2 * blocks * self._target))
        for number in range(self._target):
            place, part = divmod(number * self._source, self._target)
            current = samples[place : end : self._source]
            if part or self._target == 1:
                following = samples[place + 1 : end + 1 : self._source]
                share, whole = (part, self._target) if part else (1, 2)  # of a lower rate: the mean of two
                current = array(
                    "h", [(a * (whole - share) + b * share) // whole for a, b in zip(current, following, strict=True)]
                )
            out[number :: self._target] = current
        self._rest = samples[end:]
        if byteorder == "big":
            out.byteswap()
        return out.tobytes()


def sound_of(blob: Blob) -> tuple[bytes, int]:
    """The samples of a blob and their rate; raises ValueError if it is not whole 16-bit PCM."""
    rate, data = rate_of(blob.mime_type or ""), blob.data or b""
    if rate is None:
        raise ValueError(f"a live session takes sound as audio/pcm;rate=..., not {blob.mime_type!r}")
    if len(data) % 2:
        raise ValueError(f"the sound holds half a sample ({len(data)} bytes): 16-bit PCM is expected")
    return data, rate


def _is_sound(part: Part) -> bool:
    media = part.inline_data or part.file_data
    if media is None:
        return False
    is_recording = part.file_data is not None and _RECORDING.match(part.file_data.file_uri or "") is not None
    return is_recording or (media.mime_type or "").startswith("audio/")
