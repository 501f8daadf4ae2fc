"""Tools that the service runs itself."""

from datetime import datetime
from typing import TYPE_CHECKING

from newel_types.records import Json
from newel_types.wire import WireEnum, WireModel, late

if TYPE_CHECKING:
    from newel_types.credentials import AuthConfig
else:
    AuthConfig = late("credentials:AuthConfig")


class PhishBlockThreshold(WireEnum):
    """The confidence from which on a malicious site is left out."""

    PHISH_BLOCK_THRESHOLD_UNSPECIFIED = "PHISH_BLOCK_THRESHOLD_UNSPECIFIED"
    BLOCK_LOW_AND_ABOVE = "BLOCK_LOW_AND_ABOVE"
    BLOCK_MEDIUM_AND_ABOVE = "BLOCK_MEDIUM_AND_ABOVE"
    BLOCK_HIGH_AND_ABOVE = "BLOCK_HIGH_AND_ABOVE"
    BLOCK_HIGHER_AND_ABOVE = "BLOCK_HIGHER_AND_ABOVE"
    BLOCK_VERY_HIGH_AND_ABOVE = "BLOCK_VERY_HIGH_AND_ABOVE"
    BLOCK_ONLY_EXTREMELY_HIGH = "BLOCK_ONLY_EXTREMELY_HIGH"


class Environment(WireEnum):
    """The environment that computer use operates."""

    ENVIRONMENT_UNSPECIFIED = "ENVIRONMENT_UNSPECIFIED"
    ENVIRONMENT_BROWSER = "ENVIRONMENT_BROWSER"
    ENVIRONMENT_MOBILE = "ENVIRONMENT_MOBILE"
    ENVIRONMENT_DESKTOP = "ENVIRONMENT_DESKTOP"


class SafetyPolicy(WireEnum):
    """A kind of action that computer use guards."""

    SAFETY_POLICY_UNSPECIFIED = "SAFETY_POLICY_UNSPECIFIED"
    FINANCIAL_TRANSACTIONS = "FINANCIAL_TRANSACTIONS"
    SENSITIVE_DATA_MODIFICATION = "SENSITIVE_DATA_MODIFICATION"
    COMMUNICATION_TOOL = "COMMUNICATION_TOOL"
    ACCOUNT_CREATION = "ACCOUNT_CREATION"
    DATA_MODIFICATION = "DATA_MODIFICATION"
    USER_CONSENT_MANAGEMENT = "USER_CONSENT_MANAGEMENT"
    LEGAL_TERMS_AND_AGREEMENTS = "LEGAL_TERMS_AND_AGREEMENTS"


class DynamicRetrievalConfigMode(WireEnum):
    """Whether the model decides if it searches."""

    MODE_UNSPECIFIED = "MODE_UNSPECIFIED"
    MODE_DYNAMIC = "MODE_DYNAMIC"


class Interval(WireModel):
    """A span of time."""

    end_time: datetime | None = None
    start_time: datetime | None = None


class WebSearch(WireModel):
    """Search for pages."""


class ImageSearch(WireModel):
    """Search for images."""


class SearchTypes(WireModel):
    """The kinds of search."""

    web_search: WebSearch | None = None
    image_search: ImageSearch | None = None


class GoogleSearch(WireModel):
    """Search of the web."""

    search_types: SearchTypes | None = None
    blocking_confidence: PhishBlockThreshold | None = None
    exclude_domains: list[str] | None = None
    time_range_filter: Interval | None = None


class EnterpriseWebSearch(WireModel):
    """Search of the web for regulated industries."""

    blocking_confidence: PhishBlockThreshold | None = None
    exclude_domains: list[str] | None = None


class DynamicRetrievalConfig(WireModel):
    """The score from which on the model searches."""

    dynamic_threshold: float | None = None
    mode: DynamicRetrievalConfigMode | None = None


class GoogleSearchRetrieval(WireModel):
    """Search of the web for older models."""

    dynamic_retrieval_config: DynamicRetrievalConfig | None = None


class GoogleMapsPlaces(WireModel):
    """Grounding in places."""


class GoogleMapsRouting(WireModel):
    """Grounding in routes."""


class GoogleMapsGroundingTypes(WireModel):
    """What an answer is grounded in: places, routes."""

    places: GoogleMapsPlaces | None = None
    routing: GoogleMapsRouting | None = None


class GoogleMaps(WireModel):
    """Grounding in map data."""

    auth_config: AuthConfig | None = None
    enable_widget: bool | None = None
    grounding_types: GoogleMapsGroundingTypes | None = None


class UrlContext(WireModel):
    """Lets the model read the URLs that the prompt mentions."""


class ToolCodeExecution(WireModel):
    """Lets the model run code at the service."""


class ComputerUse(WireModel):
    """Lets the model operate a screen."""

    environment: Environment | None = None
    excluded_predefined_functions: list[str] | None = None
    enable_prompt_injection_detection: bool | None = None
    disabled_safety_policies: list[SafetyPolicy] | None = None


class FileSearch(WireModel):
    """Search of file stores."""

    file_search_store_names: list[str] | None = None
    top_k: int | None = None
    metadata_filter: str | None = None


class ToolParallelAiSearch(WireModel):
    """Search by Parallel."""

    api_key: str | None = None
    custom_configs: Json | None = None
    enable_data_retention: bool | None = None
    enable_zero_data_retention: bool | None = None


class ToolExaAiSearch(WireModel):
    """Search by Exa."""

    api_key: str | None = None
    custom_configs: Json | None = None


class StreamableHttpTransport(WireModel):
    """The HTTP transport of an MCP server; durations like '3.5s'."""

    headers: dict[str, str] | None = None
    sse_read_timeout: str | None = None
    terminate_on_close: bool | None = None
    timeout: str | None = None
    url: str | None = None


class McpServer(WireModel):
    """An MCP server that the service connects to."""

    name: str | None = None
    streamable_http_transport: StreamableHttpTransport | None = None
