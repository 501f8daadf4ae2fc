"""Citations of sources that an answer quotes."""

from pydantic import AliasChoices, Field

from newel_types.wire import ResponseModel


class GoogleTypeDate(ResponseModel):
    """A date; missing components are 0 or absent."""

    day: int | None = None
    month: int | None = None
    year: int | None = None


class Citation(ResponseModel):
    """A quotation in the answer and its source."""

    end_index: int | None = None
    license: str | None = None
    publication_date: GoogleTypeDate | None = None
    start_index: int | None = None
    title: str | None = None
    uri: str | None = None


class CitationMetadata(ResponseModel):
    """The citations of a candidate."""

    # `citationSources` is what older API versions send.
    citations: list[Citation] | None = Field(
        default=None, validation_alias=AliasChoices("citations", "citationSources")
    )
