"""What an answer is grounded in: searches, chunks of sources, and the passages they support."""

from newel_types.wire import ResponseModel


class RagChunkPageSpan(ResponseModel):
    """The pages of a chunk."""

    first_page: int | None = None
    last_page: int | None = None


class RagChunk(ResponseModel):
    """A chunk of a document."""

    page_span: RagChunkPageSpan | None = None
    text: str | None = None
    chunk_id: str | None = None
    file_id: str | None = None


class GroundingChunkImage(ResponseModel):
    """A source that is an image."""

    source_uri: str | None = None
    image_uri: str | None = None
    title: str | None = None
    domain: str | None = None


class GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution(ResponseModel):
    """The author of a review."""

    display_name: str | None = None
    photo_uri: str | None = None
    uri: str | None = None


class GroundingChunkMapsPlaceAnswerSourcesReviewSnippet(ResponseModel):
    """A piece of a review."""

    author_attribution: GroundingChunkMapsPlaceAnswerSourcesAuthorAttribution | None = None
    flag_content_uri: str | None = None
    google_maps_uri: str | None = None
    relative_publish_time_description: str | None = None
    review: str | None = None
    review_id: str | None = None
    title: str | None = None


class GroundingChunkMapsPlaceAnswerSources(ResponseModel):
    """What an answer about a place rests on."""

    review_snippet: list[GroundingChunkMapsPlaceAnswerSourcesReviewSnippet] | None = None
    flag_content_uri: str | None = None
    review_snippets: list[GroundingChunkMapsPlaceAnswerSourcesReviewSnippet] | None = None


class GroundingChunkMapsRoute(ResponseModel):
    """A route between places."""

    distance_meters: int | None = None
    duration: str | None = None
    encoded_polyline: str | None = None


class GroundingChunkMaps(ResponseModel):
    """A source that is a place or a route."""

    place_answer_sources: GroundingChunkMapsPlaceAnswerSources | None = None
    place_id: str | None = None
    text: str | None = None
    title: str | None = None
    uri: str | None = None
    route: GroundingChunkMapsRoute | None = None


class GroundingChunkStringList(ResponseModel):
    """A list of strings."""

    values: list[str] | None = None


class GroundingChunkCustomMetadata(ResponseModel):
    """A key and its value, given by the owner of the document."""

    key: str | None = None
    numeric_value: float | None = None
    string_list_value: GroundingChunkStringList | None = None
    string_value: str | None = None


class GroundingChunkRetrievedContext(ResponseModel):
    """A source that a retrieval tool found."""

    document_name: str | None = None
    rag_chunk: RagChunk | None = None
    text: str | None = None
    title: str | None = None
    uri: str | None = None
    custom_metadata: list[GroundingChunkCustomMetadata] | None = None
    file_search_store: str | None = None
    page_number: int | None = None
    media_id: str | None = None


class GroundingChunkWeb(ResponseModel):
    """A source that is a web page."""

    domain: str | None = None
    title: str | None = None
    uri: str | None = None


class GroundingChunk(ResponseModel):
    """A source; one of its fields is set."""

    image: GroundingChunkImage | None = None
    maps: GroundingChunkMaps | None = None
    retrieved_context: GroundingChunkRetrievedContext | None = None
    web: GroundingChunkWeb | None = None


class Segment(ResponseModel):
    """A passage of the answer: part index and byte offsets."""

    start_index: int | None = None
    end_index: int | None = None
    part_index: int | None = None
    text: str | None = None


class GroundingSupport(ResponseModel):
    """The chunks (by index) that support a passage."""

    confidence_scores: list[float] | None = None
    grounding_chunk_indices: list[int] | None = None
    segment: Segment | None = None
    rendered_parts: list[int] | None = None


class RetrievalMetadata(ResponseModel):
    """The score by which the model decided to search."""

    google_search_dynamic_retrieval_score: float | None = None


class SearchEntryPoint(ResponseModel):
    """Search suggestions to show, as HTML."""

    rendered_content: str | None = None
    sdk_blob: bytes | None = None


class GroundingMetadataSourceFlaggingUri(ResponseModel):
    """Where a source can be reported."""

    flag_content_uri: str | None = None
    source_id: str | None = None


class GroundingMetadata(ResponseModel):
    """What an answer is grounded in."""

    image_search_queries: list[str] | None = None
    grounding_chunks: list[GroundingChunk] | None = None
    grounding_supports: list[GroundingSupport] | None = None
    retrieval_metadata: RetrievalMetadata | None = None
    search_entry_point: SearchEntryPoint | None = None
    web_search_queries: list[str] | None = None
    google_maps_widget_context_token: str | None = None
    retrieval_queries: list[str] | None = None
    source_flagging_uris: list[GroundingMetadataSourceFlaggingUri] | None = None
