"""Spec parser: the operations of a document, each by itself, under the released names.

`OpenAPIToolset` needs none of this: it reads an operation once it is used. A parsed one can be looked at, changed, kept
as JSON, and made a tool by `RestApiTool.from_parsed_operation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self
from urllib.parse import unquote

from pydantic import BaseModel

from newel.openapi.arguments import BODY, Arguments
from newel.openapi.common import ApiParameter
from newel.openapi.document import Document, Entry
from newel.openapi.errors import DocumentError
from newel.openapi.names import tool_name
from newel.openapi.operation import read_operation
from newel.openapi.parsed_operation import OperationEndpoint, ParsedOperation
from newel.openapi.rest_api_tool import name_of, plain_operation
from newel.openapi.schemas import Schemas
from newel.openapi.security import Given, Security
from newel.openapi.servers import Servers
from newel.openapi.settings import settings_of
from newel.openapi.texts import cleaned
from newel_kernel import Json


class OpenApiSpecParser:
    """Reads all operations of a document at once."""

    def __init__(self, *, preserve_property_names: bool = False) -> None:
        self._preserve = preserve_property_names

    def parse(self, openapi_spec_dict: Mapping[str, Any]) -> list[ParsedOperation]:
        """The operations, in the document's order; raises DocumentError for one that cannot be used."""
        document = Document(openapi_spec_dict)
        servers, security = Servers(document, None, {}), Security(document, Given(), frozenset())
        return [self._parsed(document, entry, servers, security) for entry in document.entries()]

    def _parsed(self, document: Document, entry: Entry, servers: Servers, security: Security) -> ParsedOperation:
        listed = [one for owner in (entry.shared, entry.operation) for one in _listed(owner, entry.place)]
        operation = {**entry.operation, "parameters": listed}
        operation.setdefault("operationId", name_of(entry))
        operation.setdefault("security", document.root.get("security", []))
        parser = OperationParser(
            operation, preserve_property_names=self._preserve, document=_excerpt(document, operation)
        )
        server = servers.of(entry)
        alternatives = [one for one in security.alternatives(entry, server) if one]
        return ParsedOperation(
            name=name_of(entry),
            description=cleaned(entry.operation.get("description") or entry.operation.get("summary")),
            endpoint=OperationEndpoint(base_url=server.url, path=entry.path, method=entry.method.lower()),
            operation=operation,
            parameters=parser.get_parameters(),
            return_value=parser.get_return_value(),
            auth_scheme=alternatives[0][0].auth_scheme if alternatives else None,
            document=parser.document,
        )


class OperationParser:
    """One operation: its arguments, and what it returns. `document` is what its references lead to."""

    def __init__(
        self,
        operation: Mapping[str, Any] | BaseModel | str,
        should_parse: bool = True,
        *,
        preserve_property_names: bool = False,
        document: Mapping[str, Any] | None = None,
    ) -> None:
        self._operation = plain_operation(operation)
        self.document: Json = {"openapi": "3.1.0", **(document or {})}
        self._preserve = preserve_property_names
        self._parameters: list[ApiParameter] = []
        self._returns = ApiParameter(original_name="", param_location="")
        if should_parse:
            self._parameters = [_parameter(one) for one in self._arguments().listed]
            self._returns = self._read_returns()

    @classmethod
    def load(
        cls,
        operation: Mapping[str, Any] | BaseModel | str,
        params: list[ApiParameter],
        return_value: ApiParameter | None = None,
        *,
        preserve_property_names: bool = False,
    ) -> Self:
        """The parser of an operation that was parsed before."""
        parser = cls(operation, should_parse=False, preserve_property_names=preserve_property_names)
        parser._parameters = params
        parser._returns = return_value or parser._returns
        return parser

    def get_function_name(self) -> str:
        """What the tool is called; raises DocumentError if the operation has no id."""
        name = self._operation.get("operationId")
        if not isinstance(name, str) or not name:
            raise DocumentError("the operation has no operationId")
        return tool_name(name)

    def get_parameters(self) -> list[ApiParameter]:
        """The arguments: parameters, and the body or its properties."""
        return self._parameters

    def get_return_value(self) -> ApiParameter:
        """What the first successful response holds."""
        return self._returns

    def get_auth_scheme_name(self) -> str:
        """The first security scheme that the operation asks for; empty if it asks for none."""
        asked = self._operation.get("security")
        first = asked[0] if isinstance(asked, list) and asked and isinstance(asked[0], dict) else {}
        return next(iter(first), "")

    def get_json_schema(self) -> Json:
        """The schema of the arguments, with the definitions that it refers to."""
        properties = {str(one.py_name): one.param_schema for one in self._parameters}
        required = [str(one.py_name) for one in self._parameters if one.required]
        schemas = Schemas(Document(self.document))
        converted = {name: schemas.converted(schema) for name, schema in properties.items()}
        declared = {"type": "object", "properties": converted, **({"required": required} if required else {})}
        return schemas.declared(declared, settings_of(None).declaration_characters)

    def _arguments(self) -> Arguments:
        document = Document(self.document)
        listed = [document.resolved(one, "a parameter") for one in _listed(self._operation, "the operation")]
        path = "".join(f"/{{{one.get('name')}}}" for one in listed if one.get("in") == "path") or "/"
        operation = read_operation(document, Entry("POST", path, self._operation, {}), frozenset())
        return Arguments(document, Schemas(document), operation, preserve=self._preserve)

    def _read_returns(self) -> ApiParameter:
        document, responses = Document(self.document), self._operation.get("responses")
        for status, response in sorted(responses.items(), key=str) if isinstance(responses, dict) else ():
            if not str(status).startswith("2"):
                continue
            content = document.resolved(response, f"the response {status}").get("content")
            for media in content.values() if isinstance(content, dict) else ():
                if isinstance(media, dict) and isinstance(schema := media.get("schema"), dict):
                    return ApiParameter(original_name="", param_location="", param_schema=schema)
        return ApiParameter(original_name="", param_location="")


def snake_to_lower_camel(snake_case_string: str) -> str:
    """``pet_name`` as ``petName``."""
    first, *others = snake_case_string.split("_")
    return first + "".join(word.capitalize() for word in others)


def _listed(owner: Json, place: str) -> list[Any]:
    """The parameters that an operation or a path describes."""
    listed = owner.get("parameters") or []
    if not isinstance(listed, list):
        raise DocumentError(f"{place}: `parameters` must be a list")
    return listed


def _parameter(one: Any) -> ApiParameter:
    """An argument under the released name."""
    return ApiParameter(
        original_name=one.name or BODY,
        param_location=one.parameter.location if one.parameter is not None else BODY,
        param_schema=one.schema if isinstance(one.schema, dict) else {},
        description=one.description,
        py_name=one.called,
        required=one.required,
    )


def _excerpt(document: Document, value: object) -> Json:
    """The part of a document that references in `value` lead to, at the same places."""
    root: Json = {"openapi": str(document.root["openapi"])}
    seen: set[str] = set()
    waiting = list(_references(value))
    while waiting:
        reference = waiting.pop()
        if reference in seen:
            continue
        seen.add(reference)
        try:
            found = document.find(reference, "the operation")
        except DocumentError:  # told by what needs it; in an example it is none
            continue
        _put(root, document.root, reference)
        waiting.extend(_references(found))
    return root


def _put(root: Json, source: Any, reference: str) -> None:
    """Put what a reference stands for where it stands; of a list, all."""
    place: Any = root
    steps = [unquote(step).replace("~1", "/").replace("~0", "~") for step in reference.split("/")[1:]]
    for step in steps[:-1]:
        source = source[step]
        if isinstance(source, list):
            place[step] = source
            return
        place = place.setdefault(step, {})
    for step in steps[-1:]:
        place[step] = source[step]


def _references(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if isinstance(reference := one.get("$ref"), str):
                yield reference
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
