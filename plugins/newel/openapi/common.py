"""ApiParameter: a parameter of a request, under the name that the released modules give it."""

from __future__ import annotations

import keyword
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from newel.openapi.names import argument_names
from newel_kernel import Json


class ApiParameter(BaseModel):
    """A parameter: its name in the document, its place, its schema, and what it is called as an argument."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    original_name: str
    param_location: str
    param_schema: Json = Field(default_factory=dict)
    description: str | None = ""
    py_name: str | None = ""
    required: bool = False

    def model_post_init(self, context: Any, /) -> None:
        """Name the argument, if it has no name."""
        self.py_name = self.py_name or rename_python_keywords(argument_names([self.original_name], preserve=False)[0])

    def to_dict_property(self) -> str:
        """The argument as a property of a dict, as code."""
        return f'"{self.py_name}": {self.py_name}'

    def to_arg_string(self) -> str:
        """The argument as a keyword of a call, as code."""
        return f"{self.py_name}={self.py_name}"


def rename_python_keywords(s: str, prefix: str = "param_") -> str:
    """`s`, with a prefix if it is a keyword of Python."""
    return f"{prefix}{s}" if keyword.iskeyword(s) else s
