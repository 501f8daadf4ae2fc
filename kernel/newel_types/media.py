"""What parts hold apart from text: inline data, files, code, its results and partial arguments."""

from typing import TYPE_CHECKING, Any, Literal, Self

from newel_types.records import Json, Record, record
from newel_types.wire import ResponseModel, WireEnum, late

if TYPE_CHECKING:
    from newel_types.attachments import (
        AudioMetadata,
        DocumentMetadata,
        FunctionResponseBlob,
        FunctionResponseFileData,
        MediaProcessing,
        SpreadsheetMetadata,
    )
else:
    AudioMetadata = late("attachments:AudioMetadata")
    DocumentMetadata = late("attachments:DocumentMetadata")
    FunctionResponseBlob = late("attachments:FunctionResponseBlob")
    FunctionResponseFileData = late("attachments:FunctionResponseFileData")
    MediaProcessing = late("attachments:MediaProcessing")
    SpreadsheetMetadata = late("attachments:SpreadsheetMetadata")


class Language(WireEnum):
    """The language of executable code."""

    LANGUAGE_UNSPECIFIED = "LANGUAGE_UNSPECIFIED"
    PYTHON = "PYTHON"


class Outcome(WireEnum):
    """How an execution of code ended."""

    OUTCOME_UNSPECIFIED = "OUTCOME_UNSPECIFIED"
    OUTCOME_OK = "OUTCOME_OK"
    OUTCOME_FAILED = "OUTCOME_FAILED"
    OUTCOME_DEADLINE_EXCEEDED = "OUTCOME_DEADLINE_EXCEEDED"


class PartMediaResolutionLevel(WireEnum):
    """How finely the model looks at a medium."""

    MEDIA_RESOLUTION_UNSPECIFIED = "MEDIA_RESOLUTION_UNSPECIFIED"
    MEDIA_RESOLUTION_LOW = "MEDIA_RESOLUTION_LOW"
    MEDIA_RESOLUTION_MEDIUM = "MEDIA_RESOLUTION_MEDIUM"
    MEDIA_RESOLUTION_HIGH = "MEDIA_RESOLUTION_HIGH"
    MEDIA_RESOLUTION_ULTRA_HIGH = "MEDIA_RESOLUTION_ULTRA_HIGH"


class FunctionResponseScheduling(WireEnum):
    """When the model may react to the response of a non-blocking call."""

    SCHEDULING_UNSPECIFIED = "SCHEDULING_UNSPECIFIED"
    SILENT = "SILENT"
    WHEN_IDLE = "WHEN_IDLE"
    INTERRUPT = "INTERRUPT"


class VideoMetadataContentLayer(WireEnum):
    """A layer of a video that the model is given."""

    CONTENT_LAYER_UNSPECIFIED = "CONTENT_LAYER_UNSPECIFIED"
    FRAMES = "FRAMES"
    AUDIO = "AUDIO"
    TRANSCRIPT = "TRANSCRIPT"


@record
class Blob(Record):
    """Inline bytes of one MIME type; base64 in JSON. A live session makes one for each 20 ms of sound."""

    data: bytes | None = None
    display_name: str | None = None
    mime_type: str | None = None

    def __init__(
        self, data: Any = None, mime_type: str | None = None, display_name: str | None = None, **others: object
    ) -> None:
        self.data = data
        self.mime_type = mime_type
        self.display_name = display_name
        if data.__class__ is not bytes or mime_type.__class__ is not str or display_name is not None or others:
            self._check(others)

    def _check(self, others: Json) -> None:
        """Read the values as pydantic does; bytes with a MIME type, the usual case, do not get here."""
        own = {name: value for name in self.field_names if (value := getattr(self, name)) is not None}
        blob = Blob.model_validate(own | others)
        for name in ("_extra", *self.field_names):
            setattr(self, name, getattr(blob, name, None))


class FileData(ResponseModel):
    """A file by its URI."""

    display_name: str | None = None
    file_uri: str | None = None
    mime_type: str | None = None


class ExecutableCode(ResponseModel):
    """Code that the model wrote to be executed."""

    code: str | None = None
    language: Language | None = None
    id: str | None = None


class CodeExecutionResult(ResponseModel):
    """The result of an execution of code."""

    outcome: Outcome | None = None
    output: str | None = None
    id: str | None = None


class PartMediaResolution(ResponseModel):
    """The resolution at which the model sees a medium: a level, or a number of tokens."""

    level: PartMediaResolutionLevel | None = None
    num_tokens: int | None = None


class VideoMetadata(ResponseModel):
    """The part of a video that counts (offsets like '3.5s') and its frame rate."""

    end_offset: str | None = None
    fps: float | None = None
    start_offset: str | None = None
    content_layers: list[VideoMetadataContentLayer] | None = None


class PartialArg(ResponseModel):
    """A piece of a streamed tool-call argument, placed by its JSON path."""

    bool_value: bool | None = None
    json_path: str | None = None
    null_value: Literal["NULL_VALUE"] | None = None
    number_value: float | None = None
    string_value: str | None = None
    will_continue: bool | None = None


class FunctionResponsePart(ResponseModel):
    """A medium that belongs to a function response."""

    inline_data: FunctionResponseBlob | None = None
    file_data: FunctionResponseFileData | None = None
    media_processing: MediaProcessing | None = None
    media_resolution: PartMediaResolution | None = None
    video_metadata: VideoMetadata | None = None
    document_metadata: DocumentMetadata | None = None
    spreadsheet_metadata: SpreadsheetMetadata | None = None
    audio_metadata: AudioMetadata | None = None

    @classmethod
    def from_bytes(cls, *, data: bytes, mime_type: str, display_name: str | None = None) -> Self:
        """A part that holds inline data."""
        return cls.model_validate({"inline_data": {"data": data, "mime_type": mime_type, "display_name": display_name}})

    @classmethod
    def from_uri(cls, *, file_uri: str, mime_type: str | None = None, display_name: str | None = None) -> Self:
        """A part that refers to a file by its URI; a MIME type that is not given is guessed from the name."""
        if mime_type is None:
            import mimetypes  # noqa: PLC0415 - rarely needed, and 0.4 ms of every start

            mime_type = mimetypes.guess_type(file_uri)[0]
        if mime_type is None:
            raise ValueError(f"cannot tell the MIME type of {file_uri!r}; pass mime_type=")
        return cls.model_validate(
            {"file_data": {"file_uri": file_uri, "mime_type": mime_type, "display_name": display_name}}
        )
