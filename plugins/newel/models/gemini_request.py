"""What the SDK is called with: the arguments of ``generate_content`` for an LlmRequest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from newel_kernel import LlmRequest
from newel_types import Content, Part, SharedContents

#: What the service is told where the conversation does not end with the user, which it refuses.
_BEGIN = "Do now what your instructions ask for."
_CONTINUE = "Continue with what you were doing. If nothing is left to do, sum up the outcome and stop."

#: The SDK insists on contents and spends 0.1 ms or more on each, twice its own work for every earlier turn.
#: It gets this stand-in, and the contents go into the body as they are on the wire.
_STAND_IN: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "-"}]}]

#: Fields of the configuration that are not dumped: schemas may be classes, the rest is replaced.
_APART = {"response_schema", "tools", "labels", "http_options", "automatic_function_calling",
          "should_return_http_response"}  # fmt: skip


def arguments(request: LlmRequest, model: str, *, vertex: bool) -> dict[str, Any]:
    """Keyword arguments for the SDK; `request` stays as it is."""
    return {
        "model": model,
        "contents": _STAND_IN,
        "config": _config(request, vertex, on_wire(ending_with_user(request), vertex=vertex)),
    }


def on_wire(contents: Iterable[Content], *, vertex: bool) -> list[dict[str, Any]]:
    """The contents as the backend reads them."""
    return [_content(content, vertex) for content in contents]


def prefix(request: LlmRequest) -> dict[str, Any]:
    """Of the configuration, what the service reads before the contents, and a cache can hold."""
    config = request.config
    given = config.model_dump(exclude_none=True, include={"system_instruction", "tool_config"})
    if config.tools:
        given["tools"] = [_plain(tool) for tool in config.tools]
    return given


def ending_with_user(request: LlmRequest) -> list[Content]:
    """The request's contents, and where the user has not the last word, words that ask the model to go on."""
    contents = request.contents
    listed = contents.frozen() if isinstance(contents, SharedContents) else list(contents)
    if not listed:
        return [Content(role="user", parts=[Part(text=_BEGIN)])]
    if listed[-1].role == "model":
        listed.append(Content(role="user", parts=[Part(text=_CONTINUE)]))
    return listed


def _content(content: Content, vertex: bool) -> dict[str, Any]:
    """`content` as the backend reads it."""
    dumped = content.model_dump(mode="json", by_alias=True, exclude_none=True)
    for part in dumped.get("parts", ()):
        if "text" not in part or len(part) > 1:
            _fit(part, vertex)
    return dumped


def _fit(part: dict[str, Any], vertex: bool) -> None:
    """Drop what only the other backend knows, or only we do."""
    if vertex:
        part.pop("partMetadata", None)
        return
    for medium in ("inlineData", "fileData"):
        if medium in part:
            part[medium].pop("displayName", None)
    if "functionCall" in part:
        part["functionCall"].pop("partialArgs", None)
        part["functionCall"].pop("willContinue", None)


def _config(request: LlmRequest, vertex: bool, contents: list[dict[str, Any]]) -> dict[str, Any]:
    config = request.config
    given = config.model_dump(exclude_none=True, exclude=_APART)
    if config.tools:
        given["tools"] = [_plain(tool) for tool in config.tools]
    if config.response_schema is not None:
        given["response_schema"] = _plain(config.response_schema)
    if vertex and config.labels:
        given["labels"] = config.labels
    # The runtime dispatches tools itself.
    given["automatic_function_calling"] = {"disable": True}
    http: dict[str, Any] = {}
    if config.http_options is not None:
        options = config.http_options
        http = {name: value for name in options.model_fields_set if (value := getattr(options, name)) is not None}
        http = {name: _plain(value) for name, value in http.items()}
    http["extra_body"] = {"contents": contents, **(http.get("extra_body") or {})}
    given["http_options"] = http
    return given


def _plain(value: Any) -> Any:
    """Our own models as dicts; classes, generic types and the SDK's own objects as they are."""
    if isinstance(value, type) or not type(value).__module__.startswith("newel_kernel."):
        return value
    return value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value
