"""The contracts of tools and toolsets."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn

from newel_kernel._internal.contracts.request import LlmRequest
from newel_kernel._internal.errors import ConfigurationError, HookSignatureError
from newel_kernel._internal.values import Json
from newel_types import FunctionDeclaration

if TYPE_CHECKING:
    from newel_kernel._internal.invocation import Context, ReadonlyContext
    from newel_types import AuthConfig


class Effect(StrEnum):
    """The effect of repeating a tool call; it decides whether a resumed invocation may repeat the call."""

    PURE = "pure"
    IDEMPOTENT = "idempotent"
    AT_MOST_ONCE = "at_most_once"


class BaseTool:
    """Something a model can call. Subclass it, or pass a plain function as an agent's tool."""

    name: str
    description: str
    is_long_running: bool = False
    #: Whether a call that returns nothing gets its result later, in an event made elsewhere.
    _defers_response: bool = False
    effect: Effect = Effect.IDEMPOTENT
    custom_metadata: Json | None = None

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        effect = cls.__dict__.get("effect")
        if effect is None or isinstance(effect, property):
            return
        try:
            cls.effect = Effect(effect)
        except ValueError:
            raise ConfigurationError(
                f"the tool class {cls.__module__}.{cls.__qualname__} sets effect to {effect!r}; it must be one of "
                f"{', '.join(Effect)}, because it decides whether a call may be repeated: rename yours"
            ) from None

    def __init__(
        self,
        *,
        name: str,
        description: str = "",
        is_long_running: bool = False,
        custom_metadata: Json | None = None,
        effect: Effect | str | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.is_long_running = is_long_running
        self.custom_metadata = custom_metadata
        if effect is not None:
            self.effect = Effect(effect)

    @property
    def __newel_origin__(self) -> str:
        """Where the tool comes from, for error messages."""
        return f"{type(self).__module__}.{type(self).__qualname__}"

    def _get_declaration(self) -> FunctionDeclaration | None:
        """The tool's declaration for the model; None for a tool that the model cannot call by name."""
        return None

    async def run_async(self, *, args: Json, tool_context: Context) -> Any:
        """Run the tool; the result becomes the response (``{"result": value}`` unless it is a dict)."""
        raise NotImplementedError(f"{type(self).__name__} does not implement run_async")

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Prepare a model request; by default the tool declares itself."""
        llm_request.append_tools([self])


class UnknownTool(BaseTool):
    """Represents, for hooks, a tool that a model called but that does not exist."""

    def __init__(self, name: str, available: Iterable[str]) -> None:
        super().__init__(name=name, description="Tool not found")
        self.error = ValueError(f"Tool '{name}' not found.\nAvailable tools: {', '.join(available)}")

    async def run_async(self, *, args: Json, tool_context: Context) -> NoReturn:
        """Raise the error that names the available tools."""
        raise self.error


ToolFilter = Callable[[BaseTool, "ReadonlyContext | None"], bool] | Sequence[str] | None


class BaseToolset:
    """A provider of tools, asked again for each model request."""

    def __init__(self, *, tool_filter: ToolFilter = None, tool_name_prefix: str | None = None) -> None:
        self.tool_filter = tool_filter
        self.tool_name_prefix = tool_name_prefix

    @property
    def __newel_origin__(self) -> str:
        """Which toolset this is, for error messages."""
        prefix = f" with the prefix {self.tool_name_prefix!r}" if self.tool_name_prefix else ""
        return f"{type(self).__module__}.{type(self).__qualname__}{prefix}"

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """The tools, as this context may see them."""
        raise NotImplementedError(f"{type(self).__name__} does not implement get_tools")

    async def get_tools_with_prefix(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """The tools, each named ``{tool_name_prefix}_{name}`` if a prefix is set."""
        tools = await self.get_tools(readonly_context)
        if not isinstance(tools, (list, tuple)) or not all(isinstance(tool, BaseTool) for tool in tools):
            raise HookSignatureError(
                f"the toolset {self.__newel_origin__}: get_tools must return a list of tools, not {tools!r}"
            )
        return [_prefixed(tool, prefix) for tool in tools] if (prefix := self.tool_name_prefix) else tools

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Prepare a model request before the tools do."""

    def get_auth_config(self) -> AuthConfig | None:
        """The AuthConfig that `get_tools` needs, if any."""
        return None

    async def close(self) -> None:
        """Release what the toolset holds."""

    def _is_tool_selected(self, tool: BaseTool, readonly_context: ReadonlyContext | None) -> bool:
        if callable(self.tool_filter):
            return self.tool_filter(tool, readonly_context)
        return not self.tool_filter or tool.name in self.tool_filter


def _prefixed(tool: BaseTool, prefix: str) -> BaseTool:
    """A copy of `tool` under its prefixed name; the original may be shared with other toolsets."""
    renamed = copy.copy(tool)
    renamed.name = f"{prefix}_{tool.name}"
    declare = tool._get_declaration

    def declaration() -> FunctionDeclaration | None:
        declared = declare()
        return None if declared is None else declared.model_copy(update={"name": renamed.name})

    renamed._get_declaration = declaration  # type: ignore[method-assign]
    return renamed
