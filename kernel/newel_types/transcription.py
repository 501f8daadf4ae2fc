"""Transcribed speech."""

from newel_types.wire import ResponseModel


class WordInfo(ResponseModel):
    """One transcribed word and its offsets."""

    word: str | None = None
    start_offset: str | None = None
    end_offset: str | None = None


class Transcription(ResponseModel):
    """A piece of transcribed speech; `finished` is set on the last one of a turn."""

    text: str | None = None
    finished: bool | None = None
    language_code: str | None = None
    speaker_label: str | None = None
    words: list[WordInfo] | None = None
    start_offset: str | None = None
    end_offset: str | None = None
