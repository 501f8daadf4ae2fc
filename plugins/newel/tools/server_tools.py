"""Tools that the model's service runs itself: they are declared to the model and never dispatched."""

from __future__ import annotations

from abc import abstractmethod

from newel_kernel import BaseTool, ConfigurationError, Context, LlmRequest, ReadonlyContext
from newel_types import (
    EnterpriseWebSearch,
    GoogleMaps,
    GoogleSearch,
    Retrieval,
    Tool,
    ToolCodeExecution,
    UrlContext,
    VertexAISearch,
)


class ServerTool(BaseTool):
    """A tool of the model's service. A provider whose service does not know it refuses the request."""

    @abstractmethod
    def declare(self, context: ReadonlyContext) -> Tool:
        """The entry of the request's `config.tools`."""

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Add the entry, once."""
        present = llm_request.config.tools or []
        entry = self.declare(tool_context)
        if entry not in present:
            llm_request.config.tools = [*present, entry]


class GoogleSearchTool(ServerTool):
    """Search of the web; `model` replaces the agent's own."""

    def __init__(self, *, model: str | None = None) -> None:
        super().__init__(name="google_search", description="Search of the web by the model's service.")
        self.model = model

    def declare(self, context: ReadonlyContext) -> Tool:
        """The declaration of the search."""
        return Tool(google_search=GoogleSearch())

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Add the search, and set the model that was chosen for it."""
        if self.model is not None:
            llm_request.model = self.model
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)


class EnterpriseWebSearchTool(ServerTool):
    """Search of the web for regulated industries."""

    def __init__(self) -> None:
        super().__init__(name="enterprise_web_search", description="Compliant web search by the model's service.")

    def declare(self, context: ReadonlyContext) -> Tool:
        """The declaration of the search."""
        return Tool(enterprise_web_search=EnterpriseWebSearch())


class UrlContextTool(ServerTool):
    """Lets the model read the URLs of the conversation."""

    def __init__(self) -> None:
        super().__init__(name="url_context", description="Reading of URLs by the model's service.")

    def declare(self, context: ReadonlyContext) -> Tool:
        """The reading of URLs."""
        return Tool(url_context=UrlContext())


class GoogleMapsGroundingTool(ServerTool):
    """Grounding in map data."""

    def __init__(self) -> None:
        super().__init__(name="google_maps", description="Grounding in map data by the model's service.")

    def declare(self, context: ReadonlyContext) -> Tool:
        """The declaration of the grounding."""
        return Tool(google_maps=GoogleMaps())


class CodeExecutionTool(ServerTool):
    """Lets the model run code, in the sandbox of its service."""

    def __init__(self) -> None:
        super().__init__(name="code_execution", description="Code execution by the model's service.")

    def declare(self, context: ReadonlyContext) -> Tool:
        """The declaration of the code execution."""
        return Tool(code_execution=ToolCodeExecution())


class VertexAiSearchTool(ServerTool):
    """Search of a Vertex AI Search data store or engine, each by its full resource name.

    To choose by the context (such as a filter for the user), override `_build_vertex_ai_search_config`.
    """

    def __init__(
        self,
        *,
        data_store_id: str | None = None,
        data_store_specs: list[object] | None = None,
        search_engine_id: str | None = None,
        filter: str | None = None,
        max_results: int | None = None,
    ) -> None:
        super().__init__(name="vertex_ai_search", description="Vertex AI Search by the model's service.")
        if (data_store_id is None) == (search_engine_id is None):
            raise ConfigurationError("VertexAiSearchTool needs either `data_store_id` or `search_engine_id`")
        if data_store_specs is not None and search_engine_id is None:
            raise ConfigurationError("`data_store_specs` are those of an engine: set `search_engine_id`")
        self.data_store_id = data_store_id
        self.data_store_specs = data_store_specs
        self.search_engine_id = search_engine_id
        self.filter = filter
        self.max_results = max_results

    def _build_vertex_ai_search_config(self, readonly_context: ReadonlyContext) -> VertexAISearch:
        fields = {
            "datastore": self.data_store_id,
            "data_store_specs": self.data_store_specs,
            "engine": self.search_engine_id,
            "filter": self.filter,
            "max_results": self.max_results,
        }
        return VertexAISearch.model_validate(fields)

    def declare(self, context: ReadonlyContext) -> Tool:
        """The declaration of the search."""
        return Tool(retrieval=Retrieval(vertex_ai_search=self._build_vertex_ai_search_config(context)))


code_execution = CodeExecutionTool()
enterprise_web_search_tool = EnterpriseWebSearchTool()
google_maps_grounding = GoogleMapsGroundingTool()
google_search = GoogleSearchTool()
url_context = UrlContextTool()
