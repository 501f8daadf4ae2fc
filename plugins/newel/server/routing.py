"""Routing: the table of routes as an ASGI app."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, get_origin
from urllib.parse import quote, unquote

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json
from starlette.datastructures import QueryParams
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from newel.errors.not_found_error import NotFoundError
from newel.server.calls import Call, Endpoint, as_endpoint
from newel.server.kinds import WEBSOCKET, Route
from newel.server.refusals import JSON, READ_ONLY, Refusal, invalid, logged, refusal_of, response_to
from newel.server.state import State
from newel.server.truths import check_truths
from newel.server.uploads import uploaded

_PARAMETER = re.compile(r"\{(\w+)(:path)?\}")
_NOTHING: Mapping[str, str] = {}
#: More literal segments than any path has.
_ALL = 1_000


class Path(NamedTuple):
    """A path with parameters, and the endpoint of each method."""

    pattern: re.Pattern[str]
    literals: int
    methods: dict[str, Endpoint]


class Table:
    """Finds the endpoint of a request.

    It looks at the path as it was sent, so that a parameter may hold an encoded slash. Of the paths that match, the one
    with the most literal segments decides, whatever its methods and the order in which plugins were installed.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        self._static: dict[str, dict[str, Endpoint]] = {}
        #: By the first segment.
        self._dynamic: dict[str, list[Path]] = {}
        paths: dict[str, Path] = {}
        for route in routes:
            loaded = as_endpoint(route.load())
            for path in (route.path, *route.aliases):
                self._add(path, route.method, loaded, paths)
        for bucket in self._dynamic.values():
            bucket.sort(key=lambda one: -one.literals)

    def _add(self, path: str, method: str, loaded: Endpoint, paths: dict[str, Path]) -> None:
        if "{" not in path:
            methods = self._static.setdefault(path, {})
        else:
            pattern, literals = _compiled(path)
            if pattern.pattern not in paths:
                paths[pattern.pattern] = Path(pattern, literals, {})
                self._dynamic.setdefault(path.split("/")[1], []).append(paths[pattern.pattern])
            methods = paths[pattern.pattern].methods
        methods.setdefault(method, loaded)

    def find(self, path: str, method: str) -> tuple[Endpoint, Mapping[str, str]]:
        """The endpoint and the parameters of the path; a Refusal if there is none."""
        allowed: set[str] = set()
        if (methods := self._static.get(path)) is not None:
            if (found := methods.get(method)) is not None:
                return found, _NOTHING
            allowed.update(methods)
        decided = _ALL if allowed else 0
        for one in self._dynamic.get(path.split("/", 2)[1], ()):
            if one.literals < decided:
                break
            if (match := one.pattern.fullmatch(path)) is not None:
                if (found := one.methods.get(method)) is not None:
                    return found, {name: unquote(value) for name, value in match.groupdict().items()}
                allowed.update(one.methods)
                decided = one.literals
        allowed.discard(WEBSOCKET)
        if not allowed:
            raise Refusal(404, "Not Found")
        raise Refusal(405, "Method Not Allowed", {"allow": ", ".join(sorted(allowed))})


def _compiled(path: str) -> tuple[re.Pattern[str], int]:
    """The pattern of a path, and the number of its segments without a parameter."""
    pattern, end = "", 0
    for found in _PARAMETER.finditer(path):
        pattern += re.escape(path[end : found.start()])
        pattern += f"(?P<{found[1]}>{'.+' if found[2] else '[^/]+'})"
        end = found.end()
    return re.compile(pattern + re.escape(path[end:])), sum("{" not in one for one in path.split("/")[1:])


class Routing:
    """The ASGI app of the routes."""

    def __init__(self, table: Table, state: State) -> None:
        self._table = table
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            await self._answer(scope, receive, send)
        elif kind == "websocket":
            await self._converse(scope, receive, send)
        elif kind == "lifespan":
            await _live(self._state, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._response(Request(scope, receive))
        except Exception as error:  # noqa: BLE001 - the boundary of a request
            response = response_to(error)
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        method = request.method
        if self._state.stored is not None and method not in ("GET", "HEAD"):
            raise Refusal(403, READ_ONLY)
        found, path = self._table.find(_path(request.scope), "GET" if method == "HEAD" else method)
        call = Call(self._state, path)
        call.request = request
        call.user = await self._user(request, path)
        if found.path is not None:
            _check_path(found.path, path)
        if found.query is not None:
            call.query = _query(found, request)
        if found.body is not None:
            call.body = _body(found, await request.body())
        elif found.files:
            call.body = uploaded(request.headers.get("content-type", ""), await request.body(), found.files)
        value = await found.run(call)
        if isinstance(value, Response):
            return value
        return Response(to_json(value, by_alias=True, inf_nan_mode="null"), media_type=JSON)

    async def _converse(self, scope: Scope, receive: Receive, send: Send) -> None:
        websocket = WebSocket(scope, receive, send)
        try:
            found, path = self._table.find(_path(scope), WEBSOCKET)
            call = Call(self._state, path)
            call.websocket = websocket
            call.user = await self._user(websocket, path)
            if found.query is not None:
                call.query = _query(found, websocket)
        except Exception as error:  # noqa: BLE001 - the boundary of a request
            if refusal_of(error) is None:
                logged(error)
            await websocket.close()  # before it is accepted: the client sees status 403
            return
        await found.run(call)

    async def _user(self, connection: HTTPConnection, path: Mapping[str, str]) -> str | None:
        """Who calls, if the server asks; the request may name nobody else."""
        if self._state.user_of is None:
            return None
        user = await self._state.user_of(connection)
        if user is not None and path.get("user_id", user) != user:
            raise Refusal(403, "the path names another user than the one who calls")
        return user


def _check_path(model: type[BaseModel], path: Mapping[str, str]) -> None:
    try:
        model.model_validate(path)
    except ValidationError as error:
        raise Refusal(422, "; ".join(f"{one['loc'][0]}: {one['msg']}" for one in error.errors())) from None


def _query(found: Endpoint, connection: HTTPConnection) -> object:
    assert found.query is not None
    try:
        return found.query.model_validate(_values(found.query, connection.query_params))
    except ValidationError as error:
        raise invalid(error, "query") from None


def _values(query: type[BaseModel], parameters: QueryParams) -> dict[str, object]:
    """The parameters by name; those of a field that is a list, in a list."""
    lists = {name for name, field in query.model_fields.items() if get_origin(field.annotation) is list}
    return {name: parameters.getlist(name) if name in lists else parameters[name] for name in parameters}


def _body(found: Endpoint, data: bytes) -> object:
    assert found.body is not None
    if not data and found.optional_body:
        return None
    try:
        value = found.body.validate_json(data)
        check_truths(from_json(data), value)
        return value
    except ValidationError as error:
        raise invalid(error, "body") from None
    except NotFoundError as error:  # it names something, such as a persona, that nobody has registered
        raise Refusal(404, str(error)) from None


def _path(scope: Scope) -> str:
    """The path below the app's own prefix, still encoded."""
    prefix = quote(scope.get("root_path", ""))
    raw = scope.get("raw_path")
    path = raw.decode("latin-1").partition("?")[0] if raw is not None else quote(scope["path"])
    below = path[len(prefix) :] if prefix and path.startswith(prefix) else path
    return below or "/"


async def _live(state: State, receive: Receive, send: Send) -> None:
    """The lifespan of the app: at its end, runs are cancelled and stores are closed."""
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    try:
        await state.close()
    except Exception as error:  # noqa: BLE001 - the server ends whatever happens
        logged(error)
    await send({"type": "lifespan.shutdown.complete"})
