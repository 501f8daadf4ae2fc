"""LlmRequest: what one model call asks, built up by the request chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from newel_kernel._internal.errors import DuplicateToolError
from newel_kernel._internal.stash import Stash
from newel_kernel._internal.values import Json
from newel_types import (
    Content,
    FunctionDeclaration,
    GenerateContentConfig,
    HttpOptions,
    Part,
    SharedContents,
    Tool,
    coerce,
    own_tools,
    texts_of,
)

if TYPE_CHECKING:
    from newel_kernel._internal.contracts.tool import BaseTool


class LlmRequest:
    """The model's name, the conversation, the configuration and the tools of one model call.

    `contents` shares the session's committed contents and copies one when it is touched through the list,
    so no edit reaches the session. `tools_dict` maps tool names to the tools that can be dispatched.
    """

    __slots__ = (
        "_config",
        "_declarations",
        "_instruction",
        "_labels",
        "_stash",
        "contents",
        "model",
        "tools_dict",
    )

    def __init__(
        self,
        model: str | None = None,
        contents: list[Content] | None = None,
        config: GenerateContentConfig | None = None,
        tools_dict: dict[str, BaseTool] | None = None,
    ) -> None:
        self.model = model
        self.contents: list[Content] = contents if contents is not None else SharedContents()
        self._config = config if config is None else coerce(GenerateContentConfig, config)
        #: Parts of the configuration, until it is put together.
        self._instruction = ""
        self._declarations: Sequence[FunctionDeclaration] = ()
        self._labels: Mapping[str, str] | None = None
        self.tools_dict: dict[str, BaseTool] = tools_dict if tools_dict is not None else {}
        self._stash: Stash | None = None

    @property
    def config(self) -> GenerateContentConfig:
        """The configuration of the call; put together when it is first read."""
        config = self._config
        if config is None:
            config = self._config = _BLANK.__copy__()
            if self._instruction:
                config.system_instruction = self._instruction
            if self._declarations:
                config.tools = [_declaring([*self._declarations])]
            if self._labels:
                config.labels = {**self._labels}
        return config

    @config.setter
    def config(self, value: GenerateContentConfig) -> None:
        self._config = coerce(GenerateContentConfig, value)
        self.set_default_labels(self._labels or {})

    @property
    def http_options(self) -> HttpOptions | None:
        """Those of the configuration, which is not put together for this."""
        return None if self._config is None else self._config.http_options

    @property
    def stash(self) -> Stash:
        """Values that processors and providers pass on with the request."""
        if self._stash is None:
            self._stash = Stash()
        return self._stash

    def set_default_label(self, name: str, value: str) -> None:
        """Label the call, unless it has that label; a configuration that is set later gets it too."""
        self.set_default_labels({name: value})

    def set_default_labels(self, labels: Mapping[str, str]) -> None:
        """The same for several labels; requests may share `labels`, which are not to be changed."""
        self._labels = {**labels, **self._labels} if self._labels else labels
        if self._config is not None and self._labels:
            self._config.labels = {**self._labels, **(self._config.labels or {})}

    def append_instructions(self, instructions: Sequence[object]) -> None:
        """Add texts, or those of contents and parts, to the system instruction, a blank line between."""
        for text in texts_of(instructions):
            self.append_instruction(text)

    def append_instruction(self, text: str) -> None:
        """Add a text, unless it is empty, to the system instruction, after a blank line."""
        if not text:
            return
        if (config := self._config) is None:
            self._instruction = f"{self._instruction}\n\n{text}" if self._instruction else text
        elif not (present := config.system_instruction):
            config.system_instruction = text
        elif isinstance(present, str):
            config.system_instruction = f"{present}\n\n{text}"
        else:
            config.system_instruction = _with_text(present, text)

    def append_tools(self, tools: Sequence[BaseTool]) -> None:
        """Declare `tools` to the model and make them dispatchable; a second tool with the same name is refused."""
        declarations, present_tools = [], self.tools_dict
        for tool in tools:
            declaration = tool._get_declaration()
            if declaration is None:
                continue
            if (other := present_tools.get(tool.name)) is None:
                present_tools[tool.name] = tool
                declarations.append(declaration)
            elif other is not tool:  # a tool that is listed twice is declared once
                raise DuplicateToolError(
                    f"two tools are named {tool.name!r}: {other.__newel_origin__} and {tool.__newel_origin__}; "
                    f"rename one of them",
                    (other, tool),
                )
        config = self._config
        if config is None:
            self._declarations = [*self._declarations, *declarations]
            return
        if not declarations:
            return
        present = config.tools
        if present is None:
            config.tools = [_declaring(declarations)]
            return
        own_tools(present)
        for entry in present:
            if isinstance(entry, Tool) and entry.function_declarations:
                entry.function_declarations.extend(declarations)
                return
        present.append(_declaring(declarations))

    def model_copy(self, *, update: Json | None = None, deep: bool = False) -> Self:
        """A copy with its own contents list and configuration."""
        config, tools = self.config.model_copy(deep=deep), self.tools_dict.copy()
        new = self.__class__(model=self.model, config=config, tools_dict=tools)
        new.contents = (
            SharedContents(list.copy(self.contents))
            if not deep
            else [c.model_copy(deep=True) for c in list.copy(self.contents)]
        )
        new._labels = self._labels
        new._stash = None if self._stash is None else self._stash.copy()
        for name, value in (update or {}).items():
            setattr(new, name, value)
        return new


#: Copying an empty one costs half of making one; `model_construct` builds no validator at import.
_BLANK = GenerateContentConfig.model_construct()
_BLANK_TOOL = Tool.model_construct()


def _declaring(declarations: list[FunctionDeclaration]) -> Tool:
    tool = _BLANK_TOOL.__copy__()
    tool.function_declarations = declarations
    return tool


def _with_text(present: object, text: str) -> Any:
    if hasattr(present, "parts"):
        content: Content = coerce(Content, present)
        return Content(role=content.role, parts=[*(content.parts or ()), Part(text=text)])
    items = present if isinstance(present, list) else [present]
    return [*items, text]
