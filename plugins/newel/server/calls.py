"""Calls: what an endpoint gets, and how its function says what it takes and returns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter
from starlette.requests import Request

if TYPE_CHECKING:
    from starlette.websockets import WebSocket

    from newel.server.state import State


class Call:
    """One request: its parameters, validated, and the server that it came to."""

    __slots__ = ("body", "path", "query", "request", "server", "user", "websocket")

    def __init__(self, server: State, path: Mapping[str, str]) -> None:
        self.server = server
        #: The parameters in the path.
        self.path = path
        #: The validated body and query, if the endpoint takes them.
        self.body: Any = None
        self.query: Any = None
        #: Who calls; None: whoever the request names.
        self.user: str | None = None
        self.request: Request
        self.websocket: WebSocket


Run = Callable[[Call], Awaitable[object]]
#: The answer of an endpoint that does not say what it returns; None is the JSON value null.
UNDECLARED: Any = object()


@dataclass(frozen=True, slots=True, eq=False)
class Endpoint:
    """An async function of a call, and the types of what it takes and returns."""

    run: Run
    body: TypeAdapter[Any] | None = None
    #: The name of the form's field whose files are the body, in place of JSON.
    files: str = ""
    #: Whether a request without a body is one with None.
    optional_body: bool = False
    query: type[BaseModel] | None = None
    #: The parameters of the path that are more than text.
    path: type[BaseModel] | None = None
    #: None: the endpoint does not say what it returns.
    answer: TypeAdapter[Any] | None = None
    #: The media type of the answer.
    media_type: str = "application/json"
    #: What else it answers, by status.
    others: Mapping[int, TypeAdapter[Any]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """What it does, by its docstring."""
        return (self.run.__doc__ or "").strip()


def endpoint(
    *,
    body: Any = None,
    optional_body: bool = False,
    files: str = "",
    query: type[BaseModel] | None = None,
    path: type[BaseModel] | None = None,
    answer: Any = UNDECLARED,
    media_type: str = "application/json",
    others: Mapping[int, Any] | None = None,
) -> Callable[[Run], Endpoint]:
    """Mark the function of an endpoint: a pydantic model (or any type) for its JSON body, query, path and answer.

    What is declared is validated, and described in OpenAPI. With `files` the body is a form, and the files in its field
    of that name are the call's body, as a dict of bytes. `path` is a model of those parameters that are more than
    text, and `others` has the types of answers with another status than 200. The function returns a starlette
    Response, or a value that becomes JSON.
    """

    def mark(run: Run) -> Endpoint:
        return Endpoint(
            run,
            TypeAdapter(body) if body is not None else None,
            files,
            optional_body,
            query,
            path,
            TypeAdapter(answer) if answer is not UNDECLARED else None,
            media_type,
            {status: TypeAdapter(one) for status, one in (others or {}).items()},
        )

    return mark


def as_endpoint(value: object) -> Endpoint:
    """The endpoint that a route has loaded: a marked function, or one that takes no body and no query."""
    if isinstance(value, Endpoint):
        return value
    if not callable(value):
        raise TypeError(f"an endpoint is an async function, not {value!r}")
    return Endpoint(value)
