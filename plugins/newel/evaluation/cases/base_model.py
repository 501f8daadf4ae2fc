"""The base of evaluation's models."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class EvalBaseModel(BaseModel):
    """Keys may be camelCase or snake_case, mixed in one file; unknown keys are refused."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        arbitrary_types_allowed=True,
        protected_namespaces=(),
        defer_build=True,
    )
