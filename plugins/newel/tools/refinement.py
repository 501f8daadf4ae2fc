"""Refinement: a tool under another name, with a confirmation, a timeout or an effect of its own."""

from __future__ import annotations

import copy
import math
import re
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from newel.policies.time_limits import within
from newel.tools.confirmation import Needed, refusal
from newel.tools.function_tool import FunctionTool
from newel.tools.server_tools import ServerTool
from newel_kernel import (
    BaseTool,
    BaseToolset,
    ConfigurationError,
    Context,
    Effect,
    Json,
    LlmRequest,
    ReadonlyContext,
    did_you_mean,
)
from newel_types import AuthConfig, FunctionDeclaration

T = TypeVar("T", bound=BaseTool)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")

#: The options without effect on a tool that runs at the model's provider, and why.
_UNSUPPORTED = {
    "require_confirmation": "where the user cannot be asked",
    "timeout": "which sets its own time limit",
    "effect": "which never repeats a call",
}


class Refinement(BaseModel):
    """Changes to a tool that are given along with the tool; None keeps the tool's own value."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str | None = Field(default=None, description="What the model calls the tool.")
    require_confirmation: Needed | None = Field(
        default=None, description="Whether the user is asked before each call; or a function of its arguments."
    )
    timeout: float | None = Field(default=None, description="Seconds that a call may take; 0: no limit.")
    effect: Effect | None = Field(
        default=None, description="What a repeated call may do: pure, idempotent or at_most_once."
    )

    @field_validator("name")
    @classmethod
    def _legal(cls, name: str | None) -> str | None:
        if name is not None and not _NAME.fullmatch(name):
            raise ValueError("a tool's name has letters, digits and _ . : -, at most 128, and starts with a letter")
        return name

    @field_validator("timeout")
    @classmethod
    def _finite(cls, timeout: float | None) -> float | None:
        if timeout is not None and not 0 <= timeout < math.inf:
            raise ValueError("a timeout is a number of seconds, 0 for no limit")
        return timeout

    @field_validator("effect", mode="before")
    @classmethod
    def _check_effect(cls, effect: object) -> object:
        names = [one.value for one in Effect]
        if effect is not None and effect not in names:
            raise ValueError(f"there is no effect {effect!r}{did_you_mean(str(effect), names)} ({', '.join(names)})")
        return effect


def refined_toolset(toolset: BaseToolset, refinement: Refinement) -> BaseToolset:
    """The toolset, with `refinement` applied to each of its tools."""
    if refinement.name is not None:
        raise ConfigurationError(
            f"{toolset.__newel_origin__} is a toolset, whose tools have names of their own; remove `name`"
        )
    return _RefinedToolset(toolset, refinement)


def refined(tool: T, refinement: Refinement) -> T:
    """A copy of a tool, with `refinement` applied."""
    changed = copy.copy(tool)
    if isinstance(tool, ServerTool):
        for option, reason in _UNSUPPORTED.items():
            if getattr(refinement, option) is not None:
                raise ConfigurationError(f"{tool.name} runs at the model's provider, {reason}; remove `{option}`")
    if refinement.timeout is not None:
        _limit(changed, refinement.timeout)
    if refinement.require_confirmation is not None:
        _confirm(changed, refinement.require_confirmation)
    if refinement.effect is not None:
        changed.effect = refinement.effect
    if refinement.name is not None:
        _rename(changed, refinement.name)
    return changed


def _rename(tool: BaseTool, name: str) -> None:
    """Give a copy of a tool another name, in its declaration as well."""
    if isinstance(tool, FunctionTool):
        tool.__newel_rename__(name)
        return
    tool.name = name
    declare = tool._get_declaration

    def declaration() -> FunctionDeclaration | None:
        declared = declare()
        return None if declared is None else declared.model_copy(update={"name": tool.name})

    tool._get_declaration = declaration  # type: ignore[method-assign]


def _limit(tool: BaseTool, seconds: float) -> None:
    """Limit the time of each call of a copy of a tool, with the policy `tool_timeout` or without it."""
    tool.timeout = seconds  # type: ignore[attr-defined] # the policy reads it, and a FunctionTool does
    if isinstance(tool, FunctionTool) or not seconds:
        return
    run = tool.run_async

    async def limited(*, args: Json, tool_context: Context) -> object:
        called = run(args=args, tool_context=tool_context)
        if "tool_timeout" in tool_context.get_invocation_context().composition.settings:
            return await called
        return await within(seconds, called, tool.name)

    tool.run_async = limited  # type: ignore[method-assign]


def _confirm(tool: BaseTool, needed: Needed) -> None:
    """Let a copy of a tool ask the user before each call."""
    if isinstance(tool, FunctionTool):
        tool.__newel_confirm__(needed)
        return
    run = tool.run_async

    async def confirmed(*, args: Json, tool_context: Context) -> object:
        rejection = await refusal(tool.name, needed, args, tool_context)
        return rejection if rejection is not None else await run(args=args, tool_context=tool_context)

    tool.run_async = confirmed  # type: ignore[method-assign]


class _RefinedToolset(BaseToolset):
    """A toolset whose tools are refined; everything else is the toolset's own."""

    def __init__(self, toolset: BaseToolset, refinement: Refinement) -> None:
        super().__init__(tool_filter=toolset.tool_filter, tool_name_prefix=toolset.tool_name_prefix)
        self._toolset = toolset
        self._refinement = refinement

    @property
    def __newel_origin__(self) -> str:
        """The toolset."""
        return self._toolset.__newel_origin__

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """The tools of the toolset, refined."""
        return [refined(tool, self._refinement) for tool in await self._toolset.get_tools(readonly_context)]

    async def process_llm_request(self, *, tool_context: Context, llm_request: LlmRequest) -> None:
        """Do what the toolset does."""
        await self._toolset.process_llm_request(tool_context=tool_context, llm_request=llm_request)

    def get_auth_config(self) -> AuthConfig | None:
        """What the wrapped toolset needs."""
        return self._toolset.get_auth_config()

    async def close(self) -> None:
        """Close the toolset."""
        await self._toolset.close()
