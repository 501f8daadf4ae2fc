"""Retrieval that the service runs itself: Vertex AI Search, RAG stores and external APIs."""

from typing import TYPE_CHECKING

from newel_types.wire import WireEnum, WireModel, late

if TYPE_CHECKING:
    from newel_types.credentials import ApiAuth, AuthConfig
else:
    ApiAuth = late("credentials:ApiAuth")
    AuthConfig = late("credentials:AuthConfig")


class ApiSpec(WireEnum):
    """The protocol of an external search API."""

    API_SPEC_UNSPECIFIED = "API_SPEC_UNSPECIFIED"
    SIMPLE_SEARCH = "SIMPLE_SEARCH"
    ELASTIC_SEARCH = "ELASTIC_SEARCH"


class ExternalApiElasticSearchParams(WireModel):
    """Parameters of an Elasticsearch endpoint."""

    index: str | None = None
    num_hits: int | None = None
    search_template: str | None = None


class ExternalApiSimpleSearchParams(WireModel):
    """Parameters of a simple search endpoint: none."""


class ExternalApi(WireModel):
    """An external search API."""

    api_auth: ApiAuth | None = None
    api_spec: ApiSpec | None = None
    auth_config: AuthConfig | None = None
    elastic_search_params: ExternalApiElasticSearchParams | None = None
    endpoint: str | None = None
    simple_search_params: ExternalApiSimpleSearchParams | None = None


class VertexAISearchDataStoreSpec(WireModel):
    """A data store of an engine, and its filter."""

    data_store: str | None = None
    filter: str | None = None


class VertexAISearch(WireModel):
    """A Vertex AI Search data store or engine, by resource name."""

    data_store_specs: list[VertexAISearchDataStoreSpec] | None = None
    datastore: str | None = None
    engine: str | None = None
    filter: str | None = None
    max_results: int | None = None


class VertexRagStoreRagResource(WireModel):
    """A corpus, or files of it."""

    rag_corpus: str | None = None
    rag_file_ids: list[str] | None = None


class RagRetrievalConfigFilter(WireModel):
    """Which chunks count."""

    metadata_filter: str | None = None
    vector_distance_threshold: float | None = None
    vector_similarity_threshold: float | None = None


class RagRetrievalConfigHybridSearch(WireModel):
    """The weight of dense against sparse vectors."""

    alpha: float | None = None


class RagRetrievalConfigRankingLlmRanker(WireModel):
    """Ranking by a model."""

    model_name: str | None = None


class RagRetrievalConfigRankingRankService(WireModel):
    """Ranking by a service."""

    model_name: str | None = None


class RagRetrievalConfigRanking(WireModel):
    """How chunks are ranked."""

    llm_ranker: RagRetrievalConfigRankingLlmRanker | None = None
    rank_service: RagRetrievalConfigRankingRankService | None = None


class RagRetrievalConfig(WireModel):
    """How chunks are retrieved."""

    filter: RagRetrievalConfigFilter | None = None
    hybrid_search: RagRetrievalConfigHybridSearch | None = None
    ranking: RagRetrievalConfigRanking | None = None
    top_k: int | None = None


class VertexRagStore(WireModel):
    """A RAG store."""

    rag_corpora: list[str] | None = None
    rag_resources: list[VertexRagStoreRagResource] | None = None
    rag_retrieval_config: RagRetrievalConfig | None = None
    similarity_top_k: int | None = None
    store_context: bool | None = None
    vector_distance_threshold: float | None = None


class Retrieval(WireModel):
    """Where the service retrieves from."""

    disable_attribution: bool | None = None
    external_api: ExternalApi | None = None
    vertex_ai_search: VertexAISearch | None = None
    vertex_rag_store: VertexRagStore | None = None
