"""RestApiTool: an operation of an OpenAPI document as a tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel

from newel.contexts.context import Context, full
from newel.net import FetchError, UrlRefusedError
from newel.openapi.api import Api, HeaderProvider, HttpClient, Options, Verify
from newel.openapi.arguments import Arguments
from newel.openapi.document import Document, Entry
from newel.openapi.errors import ArgumentError, DocumentError
from newel.openapi.files import with_files
from newel.openapi.names import tool_name
from newel.openapi.operation import Operation, read_operation
from newel.openapi.parsed_operation import OperationEndpoint, ParsedOperation
from newel.openapi.request import Keys, build
from newel.openapi.results import result_of
from newel.openapi.security import Given
from newel.openapi.settings import settings_of
from newel.openapi.sign_in import SignIn
from newel.openapi.texts import cleaned
from newel_kernel import BaseTool, Effect, Json, ToolContext
from newel_kernel import Context as KernelContext
from newel_types import AuthConfig, AuthCredential, AuthScheme, FunctionDeclaration

#: Method -> the effect of repeating it, as HTTP defines it.
EFFECTS = {
    **dict.fromkeys(("GET", "HEAD", "OPTIONS", "TRACE"), Effect.PURE),
    **dict.fromkeys(("PUT", "DELETE"), Effect.IDEMPOTENT),
}
#: The result that the model gets while the user is asked.
PENDING: Json = {"pending": True, "message": "Needs your authorization to access your data."}


class RestApiTool(BaseTool):
    """Calls an operation: its arguments are validated, the request is built of them, the answer is the result.

    `endpoint` says where and `operation` how it is called: an operation of OpenAPI 3.1 without references, as a dict
    or as JSON. The other options are those of OpenAPIToolset. The effect follows from the method: GET and HEAD are
    pure, PUT and DELETE idempotent, all others at_most_once.
    """

    telemetry_type = "extension"

    def __init__(
        self,
        name: str,
        description: str,
        endpoint: OperationEndpoint | str,
        operation: Mapping[str, Any] | BaseModel | str,
        auth_scheme: AuthScheme | str | None = None,
        auth_credential: AuthCredential | str | None = None,
        should_parse_operation: bool = True,
        ssl_verify: Verify = None,
        header_provider: HeaderProvider | None = None,
        httpx_client_factory: Callable[[], HttpClient] | None = None,
        *,
        credential_key: str | None = None,
        allow_private_network_access: bool = False,
    ) -> None:
        if isinstance(endpoint, str):
            endpoint = OperationEndpoint.model_validate_json(endpoint)
        given = Given(read_scheme(auth_scheme), read_credential(auth_credential), credential_key)
        options = Options(
            given=given,
            allow_private=allow_private_network_access,
            verify=ssl_verify,
            header_provider=header_provider,
            client_factory=httpx_client_factory,
        )
        method, described = endpoint.method.upper(), plain_operation(operation)
        root: Json = {"openapi": "3.1.0", "servers": [{"url": endpoint.base_url}], "paths": {}}
        self._set_up(Api(Document(root), options), Entry(method, endpoint.path, described, {}), name)
        self.description = cleaned(description)

    @classmethod
    def from_parsed_operation(
        cls,
        parsed: ParsedOperation,
        ssl_verify: Verify = None,
        header_provider: HeaderProvider | None = None,
        httpx_client_factory: Callable[[], HttpClient] | None = None,
        *,
        allow_private_network_access: bool = False,
    ) -> Self:
        """The tool of an operation that was parsed by itself; it signs in by the operation's `auth_scheme`."""
        options = Options(
            given=Given(parsed.auth_scheme, parsed.auth_credential),
            allow_private=allow_private_network_access,
            verify=ssl_verify,
            header_provider=header_provider,
            client_factory=httpx_client_factory,
        )
        operation = {name: value for name, value in parsed.operation.items() if name not in ("security", "servers")}
        servers = [{"url": parsed.endpoint.base_url}]
        root: Json = {"openapi": "3.1.0", **parsed.document, "servers": servers, "paths": {}}
        entry = Entry(parsed.endpoint.method.upper(), parsed.endpoint.path, operation, {})
        tool = cls.of(Api(Document(root), options), entry, parsed.name)
        tool.description = cleaned(parsed.description)
        return tool

    @classmethod
    def from_parsed_operation_str(cls, parsed_operation_str: str) -> Self:
        """The same, from its JSON."""
        return cls.from_parsed_operation(ParsedOperation.model_validate_json(parsed_operation_str))

    @classmethod
    def of(cls, api: Api, entry: Entry, name: str | None = None) -> Self:
        """The tool of an operation of a document."""
        tool = object.__new__(cls)
        tool._set_up(api, entry, name or name_of(entry))
        return tool

    def _set_up(self, api: Api, entry: Entry, name: str) -> None:
        self._api = api
        self._entry = entry
        self._schema: Json | None = None
        self.characters = settings_of(None).declaration_characters
        self._default_headers: dict[str, str] = {}
        described = entry.operation.get("description") or entry.operation.get("summary")
        effect = EFFECTS.get(entry.method, Effect.AT_MOST_ONCE)
        super().__init__(name=name, description=cleaned(described), effect=effect)

    @property
    def __newel_origin__(self) -> str:
        """The operation and its document."""
        return f"{self._entry.place} of {self._api.document.title!r}"

    @cached_property
    def _operation(self) -> Operation:
        return read_operation(self._api.document, self._entry, self._api.security.places)

    @cached_property
    def _arguments(self) -> Arguments:
        api = self._api
        return Arguments(api.document, api.schemas, self._operation, preserve=api.options.preserve_names)

    def check(self) -> None:
        """Raise DocumentError if the operation cannot be used as the document describes it."""
        _ = self._arguments
        self._needs()

    def _get_declaration(self) -> FunctionDeclaration:
        if self._schema is None:
            self._schema = self._arguments.declaration(self.characters)
        return FunctionDeclaration(name=self.name, description=self.description, parameters_json_schema=self._schema)

    def limit_declaration(self, characters: int) -> None:
        """Let the declaration have about so many characters."""
        if characters != self.characters:
            self.characters, self._schema = characters, None

    async def run_async(self, *, args: Json, tool_context: KernelContext) -> object:
        """The answer; an error result if the arguments are wrong, or the server cannot be asked or says no."""
        return await self.call(args=args, tool_context=full(tool_context))

    async def call(self, *, args: Json, tool_context: ToolContext) -> object:
        """The same as `run_async`."""
        context = full(tool_context)
        sign_in = SignIn(context)
        try:
            values = self._arguments.values(args)
            values = await with_files(values, self._arguments, context)
            keys = await sign_in.keys(self._needs(), self._entry.place)
        except (ArgumentError, DocumentError) as error:
            return {"error": f"{self.name}: {error}"}
        if keys is None:
            return dict(PENDING)
        return await sign_in.guarded(self._answer(values, keys, sign_in, context))

    async def _answer(self, values: Any, keys: Keys, sign_in: SignIn, context: Context) -> object:
        api, place, settings = self._api, self._entry.place, settings_of(context)
        try:
            server = api.servers.of(self._entry)
            defaults = {**self._default_headers, **await api.headers(server, context)}
            sign_in.note_headers(defaults)
            request = build(self._operation, server.url, values, keys, defaults)
            reply = await api.send(request, server, settings)
        except (ArgumentError, DocumentError, UrlRefusedError) as error:
            return {"error": f"{self.name}: {error}; nothing was sent"}
        except FetchError as error:
            return {"error": f"{place}: {error}{self._doubt(error)}"}
        if reply.status == 401 and await sign_in.forget():
            return {"error": f"{place} answered 401: the credential is not valid; call again to ask for another one"}
        return await result_of(reply, place, self.name, self.effect, context)

    def _doubt(self, error: FetchError) -> str:
        if type(error) is not FetchError:
            return "; nothing was sent"
        doubtful = self.effect is Effect.AT_MOST_ONCE
        return "; whether it has taken effect is unknown: do not call it again without asking" if doubtful else ""

    def _needs(self) -> list[list[AuthConfig]]:
        server = self._api.servers.of(self._entry)
        return self._api.security.alternatives(self._entry, server)

    def configure_auth_scheme(self, auth_scheme: AuthScheme | Json) -> None:
        """Sign in by `auth_scheme`."""
        self._configure(scheme=read_scheme(auth_scheme))

    def configure_auth_credential(self, auth_credential: AuthCredential | str | None = None) -> None:
        """Sign in with `auth_credential`, an object or its JSON."""
        self._configure(credential=read_credential(auth_credential))

    def configure_credential_key(self, credential_key: str | None = None) -> None:
        """Keep the credential under `credential_key`."""
        self._configure(key=credential_key)

    def configure_ssl_verify(self, ssl_verify: Verify = None) -> None:
        """Check certificates by a context, by the authorities in a file or folder, or not at all (False)."""
        self._change(verify=ssl_verify)

    def set_default_headers(self, headers: Mapping[str, str]) -> None:
        """Send these headers with each request."""
        self._default_headers = dict(headers)

    def _configure(self, **changes: Any) -> None:
        self._change(given=replace(self._api.options.given, **changes))

    def _change(self, **changes: Any) -> None:
        """Give this tool options of its own; the other tools of its document keep theirs."""
        self._api = Api(self._api.document, replace(self._api.options, **changes))
        self._schema = None
        for name in ("_operation", "_arguments"):  # cached properties
            self.__dict__.pop(name, None)


def name_of(entry: Entry) -> str:
    """What an operation's tool is called: by its id, or by its path and method."""
    own = entry.operation.get("operationId")
    return tool_name(own if isinstance(own, str) and own else f"{entry.path}_{entry.method}")


def read_scheme(scheme: AuthScheme | Mapping[str, Any] | str | None) -> AuthScheme | None:
    """A scheme as an object, from its fields or their JSON."""
    if scheme is None:
        return None
    described = json.loads(scheme) if isinstance(scheme, str) else scheme
    return AuthConfig.model_validate({"auth_scheme": described}).auth_scheme


def read_credential(credential: AuthCredential | str | None) -> AuthCredential | None:
    """A credential as an object, from its JSON."""
    return AuthCredential.model_validate_json(credential) if isinstance(credential, str) else credential


def plain_operation(operation: Mapping[str, Any] | BaseModel | str) -> Json:
    """An operation as a mapping, from an object or JSON."""
    if isinstance(operation, str):
        operation = json.loads(operation)
    if isinstance(operation, BaseModel):
        return operation.model_dump(mode="json", by_alias=True, exclude_none=True)
    if not isinstance(operation, Mapping):
        raise DocumentError(f"an operation must be a mapping, not {type(operation).__name__}")
    return dict(operation)
