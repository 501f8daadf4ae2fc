"""How an agent file refers to agents and to code."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class AgentRefConfig(BaseModel):
    """An agent: a file, relative to the one that names it, or a ``module.attribute`` of the app."""

    model_config = ConfigDict(extra="forbid")

    config_path: str | None = Field(default=None, description="An agent file, relative to this one.")
    code: str | None = Field(default=None, description="An agent of the app's code, as module.attribute.")

    @model_validator(mode="after")
    def validate_exactly_one_field(self) -> AgentRefConfig:
        """Check that exactly one of the two fields is given."""
        if self.code is not None and self.config_path is not None:
            raise ValueError("Only one of `code` or `config_path` should be provided")
        if self.code is None and self.config_path is None:
            raise ValueError("Exactly one of `code` or `config_path` must be provided")
        return self


class ArgumentConfig(BaseModel):
    """An argument of a call; without a name it is positional."""

    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, description="The parameter's name; without one the argument is positional.")
    value: object = Field(description="The argument.")


class CodeConfig(BaseModel):
    """A tool or a callable by name, with the arguments of its call if it has any.

    In a file: the name alone, ``{name, args: {key: value}}`` or ``{name, args: [{name, value}]}``.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="The name of an installed one, or module.attribute of the app's folder.")
    args: list[ArgumentConfig] | None = Field(default=None, description="The arguments of the call.")

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("args", mode="before")
    @classmethod
    def _from_mapping(cls, value: object) -> object:
        return [{"name": name, "value": item} for name, item in value.items()] if isinstance(value, dict) else value

    @field_validator("args")
    @classmethod
    def _in_order(cls, args: list[ArgumentConfig] | None) -> list[ArgumentConfig] | None:
        """Refuse what a call cannot express: an argument twice, or a positional one after a named one."""
        names = [argument.name for argument in args or ()]
        twice = next((name for index, name in enumerate(names) if name is not None and name in names[:index]), None)
        if twice is not None:
            raise ValueError(f"the argument {twice!r} is given twice; keep one of them")
        if None in names and any(name is not None for name in names[: len(names) - 1 - names[::-1].index(None)]):
            raise ValueError("an argument without a name comes after one that has one; give it a name")
        return args

    @property
    def positional(self) -> list[object]:
        """The values of the arguments without a name."""
        return [argument.value for argument in self.args or () if argument.name is None]

    @property
    def keywords(self) -> dict[str, object]:
        """The arguments with a name."""
        return {argument.name: argument.value for argument in self.args or () if argument.name is not None}
