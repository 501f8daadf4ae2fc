"""WAV files in place of a microphone and a loudspeaker."""

from __future__ import annotations

import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from newel_kernel import ConfigurationError
from newel_types import Blob

_PIECE = 0.02


class Microphone:
    """A WAV file, in pieces of 20 ms."""

    def __init__(self, path: Path) -> None:
        try:
            with wave.open(str(path)) as file:
                if file.getnchannels() != 1 or file.getsampwidth() != 2:
                    raise ConfigurationError(
                        f"--audio-in {path}: 16 bit and one channel are needed, but it has {8 * file.getsampwidth()} "
                        f"bit and {file.getnchannels()}: convert it with `ffmpeg -i {path} -ac 1 -ar 16000 out.wav`"
                    )
                self.rate = file.getframerate()
                self._data = file.readframes(file.getnframes())
        except (OSError, EOFError, wave.Error) as error:
            raise ConfigurationError(f"--audio-in {path} cannot be read as WAV: {error or 'it is empty'}") from None

    def pieces(self) -> Iterator[Blob]:
        """The audio, piece by piece."""
        size = 2 * int(self.rate * _PIECE)
        for at in range(0, len(self._data), size):
            yield Blob(data=self._data[at : at + size], mime_type=f"audio/pcm;rate={self.rate}")


class Loudspeaker:
    """A WAV file that grows with what is said."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: wave.Wave_write | None = None

    def play(self, blob: Blob) -> None:
        """Append a piece; the first one sets the rate."""
        if self._path is None:
            return
        if self._file is None:
            rate = (blob.mime_type or "").partition("rate=")[2]
            try:
                self._file = wave.open(str(self._path), "wb")  # noqa: SIM115 - closed by __exit__
            except OSError as error:
                raise ConfigurationError(f"--audio-out {self._path} cannot be written: {error.strerror}") from None
            self._file.setnchannels(1)
            self._file.setsampwidth(2)
            self._file.setframerate(int(rate) if rate.isdigit() else 24000)
        self._file.writeframes(blob.data or b"")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
