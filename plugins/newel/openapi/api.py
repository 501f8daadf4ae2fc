"""Api: one document with what is shared by its operations: schemas, servers, security and connections."""

from __future__ import annotations

import asyncio
import inspect
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from newel.connections import PerLoop
from newel.net import FetchError, Policy, Reply, UrlRefusedError
from newel.net.guard import Target, check, take_apart
from newel.openapi.document import Document
from newel.openapi.errors import DocumentError
from newel.openapi.request import Request
from newel.openapi.schemas import Schemas
from newel.openapi.security import Given, Security
from newel.openapi.servers import Origin, Server, Servers
from newel.openapi.settings import Settings
from newel_kernel import FeatureUnavailableError, ReadonlyContext

if TYPE_CHECKING:
    from newel.net.pool import Pool

#: Makes a client of httpx or httpx2 for a request.
HttpxClientFactory: TypeAlias = "Callable[[], HttpClient]"
#: Headers for a call, from its context.
HeaderProvider: TypeAlias = Callable[[ReadonlyContext], Mapping[str, str] | Awaitable[Mapping[str, str]]]
#: How certificates are checked: a context, the file or folder of authorities, or whether at all.
Verify: TypeAlias = bool | str | ssl.SSLContext | None


class HttpClient(Protocol):
    """A client of httpx or httpx2."""

    async def request(self, method: str, url: str, **options: Any) -> Any:
        """The response."""

    async def aclose(self) -> None:
        """Close the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a toolset's user has set."""

    given: Given = field(default_factory=Given)
    server: str | None = None
    server_variables: Mapping[str, str] = field(default_factory=dict)
    allow_private: bool = False
    allow_origins: Sequence[str] = ()
    verify: Verify = None
    header_provider: HeaderProvider | None = None
    client_factory: HttpxClientFactory | None = None
    preserve_names: bool = False


class Api:
    """A document, and the connections to its servers, which are kept until `close`."""

    def __init__(self, document: Document, options: Options) -> None:
        self.document = document
        self.options = options
        self.schemas = Schemas(document)
        self.servers = Servers(document, options.server, options.server_variables)
        self.trusted = self.servers.trusted | {_origin(url) for url in options.allow_origins}
        self.security = Security(document, options.given, self.trusted)
        self.verify = options.verify
        self._pools: PerLoop[dict[tuple[Policy, object], Pool]] = PerLoop(dict, _close_all)

    async def send(self, request: Request, server: Server, settings: Settings) -> Reply:
        """The answer to a request; a redirect is followed to the document's servers alone, without keys."""
        policy = self._policy(server, settings)
        if self.options.client_factory is not None:
            return await self._send_by(self.options.client_factory, request, policy)
        allowed = self.trusted | {server.target.origin}

        def follow(target: Target) -> bool:
            return target.origin in allowed

        pool = self._pool(policy)
        return await pool.send(request.method, request.url, request.headers, request.body, follow=follow)

    def _policy(self, server: Server, settings: Settings) -> Policy:
        private: tuple[str, ...] = ()
        if self.options.allow_private:
            origins = {*self.trusted, server.target.origin}
            private = tuple(sorted(_host_and_port(host, port) for _, host, port in origins))
        return Policy(allow=(*settings.allow, *private), max_bytes=settings.max_bytes, seconds=settings.seconds)

    def _pool(self, policy: Policy) -> Pool:
        try:
            from newel.net.pool import Pool  # noqa: PLC0415 - an optional library
        except ImportError as error:
            raise FeatureUnavailableError("tools of OpenAPI documents need pip install 'newel[openapi]'") from error
        pools, key = self._pools.get(), (policy, self.verify)
        if key not in pools:
            pools[key] = Pool(policy, context=_context(self.verify))
        return pools[key]

    async def _send_by(self, make: Callable[[], HttpClient], request: Request, policy: Policy) -> Reply:
        """The answer by a client of the user's own; it resolves names itself, after the guard has."""
        await asyncio.to_thread(check, request.url, policy)
        client = make()
        try:
            options: dict[str, Any] = {"headers": list(request.headers), "follow_redirects": False}
            if request.body is not None:
                options["content"] = b"".join(request.body)
            response = await client.request(request.method, request.url, **options)
        except Exception as error:
            raise FetchError(f"the client failed: {type(error).__name__}: {error}") from error
        finally:
            await client.aclose()
        headers = {name.lower(): value for name, value in response.headers.items()}
        body, most = response.content, policy.max_bytes
        return Reply(request.url, response.status_code, headers, body[:most], len(body) > most)

    async def headers(self, server: Server, context: ReadonlyContext) -> Mapping[str, str]:
        """The headers of the user's own provider; they go to the trusted origins alone."""
        if self.options.header_provider is None or server.target.origin not in self.trusted:
            return {}
        provided = self.options.header_provider(context)
        return await provided if inspect.isawaitable(provided) else provided

    async def close(self) -> None:
        """Close the running loop's connections."""
        await self._pools.close()


async def _close_all(pools: dict[tuple[Policy, object], Pool]) -> None:
    for pool in pools.values():
        await pool.close()


def _origin(url: str) -> Origin:
    try:
        return take_apart(url).origin
    except UrlRefusedError as error:
        raise DocumentError(f"allow_origins: {error}") from None


def _host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _context(verify: Verify) -> ssl.SSLContext | None:
    if verify is None or verify is True:
        return None
    if isinstance(verify, ssl.SSLContext):
        return verify
    if isinstance(verify, str):
        try:
            return ssl.create_default_context(cafile=verify)
        except IsADirectoryError:
            return ssl.create_default_context(capath=verify)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
