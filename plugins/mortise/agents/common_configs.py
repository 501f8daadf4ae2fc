"""How an agent file refers to agents and to code."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator, model_validator


class AgentRefConfig(BaseModel):
    """A sub-agent: a file, relative to the one that names it, or a ``module.attribute`` of the app."""

    model_config = ConfigDict(extra="forbid")

    config_path: str | None = None
    code: str | None = None

    @model_validator(mode="after")
    def validate_exactly_one_field(self) -> AgentRefConfig:
        """Either the one or the other."""
        if self.code is not None and self.config_path is not None:
            raise ValueError("Only one of `code` or `config_path` should be provided")
        if self.code is None and self.config_path is None:
            raise ValueError("Exactly one of `code` or `config_path` must be provided")
        return self


class ArgumentConfig(BaseModel):
    """An argument of a call; without a name it is positional."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = None
    value: Any


class CodeConfig(BaseModel):
    """A tool or a callable by name. With `args` it is called, and what it returns is meant.

    In a file: the name alone, ``{name, args: {key: value}}`` or ``{name, args: [{name, value}]}``.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    args: list[ArgumentConfig] | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("args", mode="before")
    @classmethod
    def _from_mapping(cls, value: Any) -> Any:
        return [{"name": name, "value": item} for name, item in value.items()] if isinstance(value, dict) else value

    @property
    def positional(self) -> list[Any]:
        """The values of the arguments without a name."""
        return [argument.value for argument in self.args or () if argument.name is None]

    @property
    def keywords(self) -> dict[str, Any]:
        """The arguments with a name."""
        return {argument.name: argument.value for argument in self.args or () if argument.name is not None}
