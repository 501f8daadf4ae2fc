"""What the parts of a function response hold."""

from newel_types.wire import ResponseModel, WireEnum


class MediaProcessing(WireEnum):
    """Whether a video is read once or explored by the model."""

    MEDIA_PROCESSING_UNSPECIFIED = "MEDIA_PROCESSING_UNSPECIFIED"
    STATIC = "STATIC"
    AGENTIC = "AGENTIC"


class DocumentMetadataContentLayer(WireEnum):
    """A layer of a document that the model is given."""

    CONTENT_LAYER_UNSPECIFIED = "CONTENT_LAYER_UNSPECIFIED"
    PAGE_IMAGE = "PAGE_IMAGE"
    PAGE_TEXT = "PAGE_TEXT"


class SpreadsheetMetadataContentLayer(WireEnum):
    """A layer of a spreadsheet that the model is given."""

    CONTENT_LAYER_UNSPECIFIED = "CONTENT_LAYER_UNSPECIFIED"
    DATA = "DATA"
    FORMULAS = "FORMULAS"
    VISUAL = "VISUAL"


class FunctionResponseBlob(ResponseModel):
    """Inline bytes in a function response; base64 in JSON."""

    mime_type: str | None = None
    data: bytes | None = None
    display_name: str | None = None


class FunctionResponseFileData(ResponseModel):
    """A file in a function response, by its URI."""

    file_uri: str | None = None
    mime_type: str | None = None
    display_name: str | None = None


class DocumentMetadata(ResponseModel):
    """The pages of a document to use."""

    start_page: int | None = None
    end_page: int | None = None
    content_layers: list[DocumentMetadataContentLayer] | None = None


class SpreadsheetMetadata(ResponseModel):
    """The sheet and the cells to use."""

    visible_cells: str | None = None
    sheet_index: int | None = None
    content_layers: list[SpreadsheetMetadataContentLayer] | None = None


class AudioMetadata(ResponseModel):
    """The part of an audio file to use (offsets like '3.5s')."""

    start_offset: str | None = None
    end_offset: str | None = None
