"""Options of the HTTP request of a model call, and its raw response."""

from typing import Any

from newel_types.records import Json
from newel_types.wire import ResponseModel, WireEnum, WireModel


class ResourceScope(WireEnum):
    """What a base URL stands for."""

    COLLECTION = "COLLECTION"


class HttpRetryOptions(WireModel):
    """How a failed request is repeated; delays in seconds."""

    attempts: int | None = None
    initial_delay: float | None = None
    max_delay: float | None = None
    exp_base: float | None = None
    jitter: float | None = None
    http_status_codes: list[int] | None = None


class HttpOptions(WireModel):
    """Options of one request; `timeout` in milliseconds. The client objects are passed on unchanged."""

    base_url: str | None = None
    base_url_resource_scope: ResourceScope | None = None
    api_version: str | None = None
    headers: dict[str, str] | None = None
    timeout: int | None = None
    client_args: Json | None = None
    async_client_args: Json | None = None
    extra_body: Json | None = None
    retry_options: HttpRetryOptions | None = None
    httpx_client: Any = None
    httpx_async_client: Any = None
    aiohttp_client: Any = None


class HttpResponse(ResponseModel):
    """The raw HTTP response of a model response."""

    headers: dict[str, str] | None = None
    body: str | None = None
