"""Tools that a model is offered."""

from typing import TYPE_CHECKING, Any

from newel_types.wire import WireEnum, WireModel, late

if TYPE_CHECKING:
    from newel_types.retrieval import Retrieval
    from newel_types.schema import Schema
    from newel_types.server_tools import (
        ComputerUse,
        EnterpriseWebSearch,
        FileSearch,
        GoogleMaps,
        GoogleSearch,
        GoogleSearchRetrieval,
        McpServer,
        ToolCodeExecution,
        ToolExaAiSearch,
        ToolParallelAiSearch,
        UrlContext,
    )
else:
    Retrieval = late("retrieval:Retrieval")
    Schema = late("schema:Schema")
    ComputerUse = late("server_tools:ComputerUse")
    EnterpriseWebSearch = late("server_tools:EnterpriseWebSearch")
    FileSearch = late("server_tools:FileSearch")
    GoogleMaps = late("server_tools:GoogleMaps")
    GoogleSearch = late("server_tools:GoogleSearch")
    GoogleSearchRetrieval = late("server_tools:GoogleSearchRetrieval")
    McpServer = late("server_tools:McpServer")
    ToolCodeExecution = late("server_tools:ToolCodeExecution")
    ToolExaAiSearch = late("server_tools:ToolExaAiSearch")
    ToolParallelAiSearch = late("server_tools:ToolParallelAiSearch")
    UrlContext = late("server_tools:UrlContext")


class Behavior(WireEnum):
    """Whether the model waits for a function's response."""

    UNSPECIFIED = "UNSPECIFIED"
    BLOCKING = "BLOCKING"
    NON_BLOCKING = "NON_BLOCKING"


class FunctionDeclaration(WireModel):
    """A function that the model may call; parameters as a Schema or as JSON Schema."""

    description: str | None = None
    name: str | None = None
    parameters: Schema | None = None
    parameters_json_schema: Any = None
    response: Schema | None = None
    response_json_schema: Any = None
    behavior: Behavior | None = None


class Tool(WireModel):
    """A group of function declarations, or one tool that the service runs itself."""

    retrieval: Retrieval | None = None
    computer_use: ComputerUse | None = None
    file_search: FileSearch | None = None
    google_search: GoogleSearch | None = None
    google_maps: GoogleMaps | None = None
    code_execution: ToolCodeExecution | None = None
    enterprise_web_search: EnterpriseWebSearch | None = None
    function_declarations: list[FunctionDeclaration] | None = None
    google_search_retrieval: GoogleSearchRetrieval | None = None
    parallel_ai_search: ToolParallelAiSearch | None = None
    url_context: UrlContext | None = None
    mcp_servers: list[McpServer] | None = None
    exa_ai_search: ToolExaAiSearch | None = None
