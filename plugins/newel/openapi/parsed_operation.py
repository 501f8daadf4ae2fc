"""ParsedOperation: an operation by itself, under the released name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator

from newel.openapi.common import ApiParameter
from newel_kernel import Json
from newel_types import AuthConfig, AuthCredential, AuthScheme


class OperationEndpoint(BaseModel):
    """Where an operation is called."""

    model_config = ConfigDict(extra="forbid")

    base_url: str
    path: str
    method: str


class ParsedOperation(BaseModel):
    """An operation by itself. `document` is what its references lead to, where they lead to it."""

    name: str
    description: str
    endpoint: OperationEndpoint
    operation: Json
    parameters: list[ApiParameter]
    return_value: ApiParameter
    auth_scheme: SerializeAsAny[AuthScheme] | None = None
    auth_credential: AuthCredential | None = None
    additional_context: Any = None
    document: Json = Field(default_factory=dict)

    @field_validator("auth_scheme", mode="before")
    @classmethod
    def _read_scheme(cls, scheme: object) -> object:
        """A scheme of JSON is of the class that its type names."""
        return AuthConfig.model_validate({"auth_scheme": scheme}).auth_scheme if isinstance(scheme, Mapping) else scheme
