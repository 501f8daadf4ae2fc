"""Requests: the arguments of the SDK's ``generate_content`` for an LlmRequest."""

from __future__ import annotations

from collections.abc import Iterable

from newel.models.google.history import Dialect, History
from newel.models.google.request_keys import CACHED_CONTENTS
from newel.models.google.sdk import Json
from newel.models.wire.conversions import Conversions
from newel_kernel import LlmRequest
from newel_types import Content, Part, SharedContents, WireModel

#: User messages for a conversation that does not end with the user, which the service refuses.
_BEGIN = "Do now what your instructions ask for."
_CONTINUE = "Continue with what you were doing. If nothing is left to do, sum up the outcome and stop."

#: The SDK insists on contents and spends 0.1 ms or more on each, twice its own work for every earlier turn.
#: It gets this stand-in, and the contents go into the body as they are on the wire.
_STAND_IN: list[Json] = [{"role": "user", "parts": [{"text": "-"}]}]

#: Fields of the configuration that are not dumped: schemas may be classes, the rest is replaced.
_APART = {
    "response_schema",
    "tools",
    "labels",
    "http_options",
    "automatic_function_calling",
    "should_return_http_response",
}


def arguments(
    request: LlmRequest, model: str, dialect: Dialect, conversions: Conversions[History] | None = None
) -> Json:
    """Keyword arguments for the SDK; `request` is not changed."""
    history = (conversions or Conversions()).of(request.contents, lambda: History(dialect), key=dialect)
    history.close()
    contents = history.contents[history_start(request, dialect) :]
    if not contents:
        contents = [_message(_BEGIN)]
    elif contents[-1]["role"] == "model":
        contents = [*contents, _message(_CONTINUE)]
    return {"model": model, "contents": _STAND_IN, "config": _config(request, dialect.vertex, contents)}


def history_start(request: LlmRequest, dialect: Dialect) -> int:
    """How many contents, in wire form, the request's cache holds."""
    cached = request.stash.get(CACHED_CONTENTS, 0)
    return len(on_wire(_listed(request)[:cached], dialect)) if cached else 0


def on_wire(contents: Iterable[Content], dialect: Dialect) -> list[Json]:
    """The contents as the backend reads them; calls at their end may be without a result."""
    history = History(dialect)
    for content in contents:
        history.add(content)
    return history.contents


def prefix(request: LlmRequest) -> Json:
    """The part of the configuration that the service reads before the contents, and a cache can hold."""
    config = request.config
    fields: Json = config.model_dump(exclude_none=True, include={"system_instruction", "tool_config"})
    if config.tools:
        fields["tools"] = [plain(tool) for tool in config.tools]
    return fields


def ending_with_user(request: LlmRequest) -> list[Content]:
    """The request's contents; if they do not end with the user, one more asks the model to continue."""
    contents = request.contents
    listed = contents.frozen() if isinstance(contents, SharedContents) else list(contents)
    if not listed:
        return [Content(role="user", parts=[Part(text=_BEGIN)])]
    if listed[-1].role == "model":
        listed.append(Content(role="user", parts=[Part(text=_CONTINUE)]))
    return listed


def _listed(request: LlmRequest) -> list[Content]:
    return list.copy(request.contents)


def _message(words: str) -> Json:
    return {"role": "user", "parts": [{"text": words}]}


def _config(request: LlmRequest, vertex: bool, contents: list[Json]) -> Json:
    config = request.config
    fields: Json = config.model_dump(exclude_none=True, exclude=_APART)
    if config.tools:
        fields["tools"] = [plain(tool) for tool in config.tools]
    if config.response_schema is not None:
        fields["response_schema"] = plain(config.response_schema)
    if vertex and config.labels:
        fields["labels"] = config.labels
    # The runtime dispatches tools itself.
    fields["automatic_function_calling"] = {"disable": True}
    http: Json = {}
    if config.http_options is not None:
        options = config.http_options
        http = {name: value for name in options.model_fields_set if (value := getattr(options, name)) is not None}
        # Only one layer retries, which is ours.
        http = {name: plain(value) for name, value in http.items() if name != "retry_options"}
    http["extra_body"] = {"contents": contents, **(http.get("extra_body") or {})}
    fields["http_options"] = http
    return fields


def plain(value: object) -> object:
    """Our own models as dicts; classes, generic types and the SDK's own objects unchanged."""
    return value.model_dump(exclude_none=True) if isinstance(value, WireModel) else value
