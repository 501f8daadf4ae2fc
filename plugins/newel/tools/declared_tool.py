"""DeclaredTool: a `Tool` of google-genai, or of newel's types, among an agent's tools."""

from __future__ import annotations

from newel.tools.server_tools import ServerTool
from newel_kernel import ConfigurationError, ReadonlyContext
from newel_types import Tool, as_plain

_REMEDY = (
    "a declaration says how a function is called and not what it does; give the function itself, or a BaseTool whose "
    "_get_declaration returns it"
)


def is_declaration(entry: object) -> bool:
    """Whether an entry is a `Tool` or `FunctionDeclaration`, ours or the SDK's, which is not imported for this."""
    kind = type(entry)
    return kind.__name__ in ("Tool", "FunctionDeclaration") and kind.__module__.startswith(
        ("newel_types", "google.genai.types")
    )


class DeclaredTool(ServerTool):
    """Passes a `Tool` of the model's service on as it was given."""

    def __init__(self, entry: object) -> None:
        """Raises ConfigurationError for a declaration of functions: nothing could run them."""
        if type(entry).__name__ == "FunctionDeclaration":
            raise ConfigurationError(
                f"the FunctionDeclaration {getattr(entry, 'name', None)!r} is not a tool: {_REMEDY}"
            )
        self._tool = Tool.model_validate(as_plain(entry))
        if declared := self._tool.function_declarations:
            names = ", ".join(repr(one.name) for one in declared)
            raise ConfigurationError(f"a Tool with function_declarations ({names}) is not a tool: {_REMEDY}")
        fields = [name for name, value in self._tool if value is not None]
        if not fields:
            raise ConfigurationError("a Tool without any field is not a tool: set one, such as google_search")
        super().__init__(name="_".join(fields), description="A tool of the model's service.")

    def declare(self, context: ReadonlyContext) -> Tool:
        """The tool that was given."""
        return self._tool
