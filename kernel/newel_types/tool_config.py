"""How a model may call the tools that it is offered."""

from newel_types.wire import WireEnum, WireModel


class FunctionCallingConfigMode(WireEnum):
    """Whether the model may, must or must not call functions."""

    MODE_UNSPECIFIED = "MODE_UNSPECIFIED"
    AUTO = "AUTO"
    ANY = "ANY"
    NONE = "NONE"
    VALIDATED = "VALIDATED"


class FunctionCallingConfig(WireModel):
    """How the model may call functions."""

    allowed_function_names: list[str] | None = None
    mode: FunctionCallingConfigMode | None = None
    stream_function_call_arguments: bool | None = None


class LatLng(WireModel):
    """A place on earth, in degrees."""

    latitude: float | None = None
    longitude: float | None = None


class RetrievalConfig(WireModel):
    """Where and in which language the user is."""

    lat_lng: LatLng | None = None
    language_code: str | None = None


class ToolConfig(WireModel):
    """How the model may use all of its tools."""

    retrieval_config: RetrievalConfig | None = None
    function_calling_config: FunctionCallingConfig | None = None
    include_server_side_tool_invocations: bool | None = None
