"""OpenAPIToolset: the operations of an OpenAPI document as tools."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from newel.openapi.api import Api, HeaderProvider, HttpClient, Options, Verify
from newel.openapi.document import Document, Entry
from newel.openapi.errors import DocumentError
from newel.openapi.names import tool_name
from newel.openapi.rest_api_tool import RestApiTool, name_of, read_credential, read_scheme
from newel.openapi.security import Given
from newel.openapi.settings import settings_of
from newel.openapi.syntax import MOST, read_document
from newel_kernel import BaseTool, BaseToolset, ReadonlyContext
from newel_types import AuthCredential, AuthScheme

_log = logging.getLogger("newel.openapi")
#: How many operations a message lists.
_SHOWN = 10
ToolFilter = Callable[[BaseTool, ReadonlyContext | None], bool] | Sequence[str] | None


class OpenAPIToolset(BaseToolset):
    """A tool for each operation of a document: a dict, a text of the type `spec_str_type`, or a file.

    `auth_scheme` and `auth_credential` serve every security scheme that they fit (and a document without any);
    `credentials` gives further ones by the names of schemes. What is missing is asked from the user, one for each
    server. Keys go to the document's servers and to `allow_origins`, and to operations that ask for them.
    `server` replaces the servers of the document, `server_variables` the defaults of their variables.
    `allow_private_network_access` allows servers of the document that are not public. `header_provider` gives
    headers for a call, from its context; it may be a coroutine function. `httpx_client_factory` makes a client of your
    own for each request. Argument names are in snake_case, unless `preserve_property_names` is set. Raises
    DocumentError if the document cannot be used; a single operation that cannot be is left out, with a warning.
    """

    def __init__(
        self,
        *,
        spec_dict: Mapping[str, Any] | None = None,
        spec_str: str | None = None,
        spec_str_type: Literal["json", "yaml"] = "json",
        spec_file: str | Path | None = None,
        auth_scheme: AuthScheme | Mapping[str, Any] | None = None,
        auth_credential: AuthCredential | None = None,
        credential_key: str | None = None,
        credentials: Mapping[str, AuthCredential] | None = None,
        tool_filter: ToolFilter = None,
        tool_name_prefix: str | None = None,
        ssl_verify: Verify = None,
        header_provider: HeaderProvider | None = None,
        httpx_client_factory: Callable[[], HttpClient] | None = None,
        preserve_property_names: bool = False,
        allow_private_network_access: bool = False,
        allow_origins: Sequence[str] = (),
        server: str | None = None,
        server_variables: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(tool_filter=tool_filter, tool_name_prefix=tool_name_prefix)
        given = Given(read_scheme(auth_scheme), read_credential(auth_credential), credential_key, credentials or {})
        options = Options(
            given=given,
            server=server,
            server_variables=server_variables or {},
            allow_private=allow_private_network_access,
            allow_origins=allow_origins,
            verify=ssl_verify,
            header_provider=header_provider,
            client_factory=httpx_client_factory,
            preserve_names=preserve_property_names,
        )
        self._api = Api(Document(_root(spec_dict, spec_str, spec_str_type, spec_file)), options)
        self._tools = {name: RestApiTool.of(self._api, entry, name) for name, entry in _named(self._api.document)}
        #: Name -> what is wrong with the operation, or None.
        self._checked: dict[str, str | None] = {}
        self._expect(tool_filter)

    @property
    def __newel_origin__(self) -> str:
        """The document."""
        return f"{super().__newel_origin__} of {self._api.document.title!r}"

    def _expect(self, names: ToolFilter) -> None:
        """Raise DocumentError for names in the filter that no operation has."""
        if not isinstance(names, Sequence) or isinstance(names, str):
            return
        if unknown := [name for name in names if name not in self._tools]:
            known = ", ".join(list(self._tools)[:50])
            raise DocumentError(
                f"tool_filter: no operation is called {', '.join(map(repr, unknown))}; there are: {known}"
            )

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """The tools of the operations that the filter selects and that can be used."""
        characters = settings_of(readonly_context).declaration_characters
        tools: list[BaseTool] = []
        for tool in self._tools.values():
            if not self._is_tool_selected(tool, readonly_context) or self._problem(tool) is not None:
                continue
            tool.limit_declaration(characters)
            tools.append(tool)
        return tools

    def get_tool(self, tool_name: str) -> RestApiTool | None:
        """The tool with a name, or None; raises DocumentError if its operation cannot be used."""
        tool = self._tools.get(tool_name)
        if tool is not None and (problem := self._problem(tool)) is not None:
            raise DocumentError(problem)
        return tool

    def _problem(self, tool: RestApiTool) -> str | None:
        """What is wrong with a tool's operation; told once."""
        if tool.name not in self._checked:
            problem = None
            try:
                tool.check()
            except DocumentError as error:
                problem = str(error)
                _log.warning("newel: %s: the tool %s is left out: %s", self._api.document.title, tool.name, problem)
            self._checked[tool.name] = problem
        return self._checked[tool.name]

    def configure_ssl_verify_all(self, ssl_verify: Verify = None) -> None:
        """Check the certificates of all servers by a context, by the authorities in a file, or not at all (False)."""
        for tool in self._tools.values():
            tool.configure_ssl_verify(ssl_verify)

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self._api.close()


def _root(given: Mapping[str, Any] | None, text: str | None, kind: str, file: str | Path | None) -> Mapping[str, Any]:
    if sum(one is not None for one in (given, text, file)) != 1:
        raise DocumentError("give the document as one of spec_dict, spec_str and spec_file")
    if given is not None:
        if not isinstance(given, Mapping):
            raise DocumentError(f"spec_dict must be a dict, not {type(given).__name__}")
        return given
    return read_document(text or "", kind) if file is None else _read_file(Path(file))


def _read_file(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > 4 * MOST:
            raise DocumentError(f"{path} is larger than any document that is read")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the document {path} cannot be read: {error}") from None
    try:
        return read_document(text, "json" if path.suffix.lower() == ".json" else "yaml")
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from None


def _named(document: Document) -> list[tuple[str, Entry]]:
    """The operations, each with a name of its own: where two share one, both are named by path and method."""
    entries = list(document.entries())
    holders: dict[str, list[Entry]] = {}
    for entry in entries:
        holders.setdefault(name_of(entry), []).append(entry)
    named: dict[str, Entry] = {}
    numbers: dict[str, int] = {}  # by the name that several would have
    for entry in entries:
        name = name_of(entry)
        if len(holders[name]) > 1:
            name = tool_name(f"{entry.path}_{entry.method}")
        base = name
        while name in named or (name in holders and holders[name] != [entry] and len(holders[name]) == 1):
            numbers[base] = numbers.get(base, 0) + 1
            name = tool_name(f"{entry.path}_{entry.method}_{numbers[base]}")
        named[name] = entry
    for name, shared in holders.items():
        if len(shared) > 1:
            places = ", ".join(entry.place for entry in shared[:_SHOWN])
            places += f" and {len(shared) - _SHOWN} more" if len(shared) > _SHOWN else ""
            _log.warning(
                "newel: %s: %r names several operations: %s; they are named by path", document.title, name, places
            )
    return list(named.items())
