"""Chains: what the kernel runs of a composition, made once and frozen."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pydantic import BaseModel

from newel_kernel._internal.contracts.turns import Turns
from newel_kernel._internal.hooks import Callbacks
from newel_kernel._internal.kinds import (
    Epilogue,
    Observer,
    Prologue,
    Registry,
    RequestProcessor,
    ResponseProcessor,
    ResultProcessor,
    ToolPolicy,
    ToolPreparation,
    TurnPolicy,
)
from newel_kernel._internal.stash import Stash
from newel_kernel._internal.values import Json

if TYPE_CHECKING:
    from newel_kernel._internal.context import Context
    from newel_kernel._internal.contracts.tool import BaseTool
    from newel_kernel._internal.kinds import ToolCall

#: Hook -> (plugins' implementations, fallbacks), of the hooks that have any.
Hooks = Mapping[str, tuple[Callbacks, Callbacks]]
_NONE: tuple[Callbacks, Callbacks] = ((), ())
_DEFAULT_TURNS = Turns()
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chains:
    """The chains in their order, the hooks as flat tuples, and the registry of everything else that plugins provide."""

    registry: Registry
    hooks: Hooks = field(default_factory=dict)
    #: Plugin -> its validated settings.
    settings: Mapping[str, BaseModel] = field(default_factory=dict)
    request_chain: tuple[RequestProcessor, ...] = ()
    response_chain: tuple[ResponseProcessor, ...] = ()
    result_chain: tuple[ResultProcessor, ...] = ()
    tool_chain: tuple[ToolPolicy, ...] = ()
    #: What plugins keep for as long as the composition lives (their models, say).
    stash: Stash = field(default_factory=Stash, repr=False, compare=False)
    #: The part of the request chain that the loop runs, and the tool preparations after it.
    request_steps: tuple[RequestProcessor, ...] = field(init=False)
    #: Runs a tool within the policies of the tool chain.
    call_tool: ToolCall = field(init=False, repr=False)
    #: Whether a plugin has hooks around agents, and around their models: each run and each call looks at these.
    agents_hooked: bool = field(init=False)
    models_hooked: bool = field(init=False)
    #: Whose turn it is.
    turns: Turns = field(init=False)
    prologues: tuple[Prologue, ...] = field(init=False)
    late_prologues: tuple[Prologue, ...] = field(init=False)
    epilogues: tuple[Epilogue, ...] = field(init=False)
    observers: tuple[Observer, ...] = field(init=False)
    #: What `for_app` made, by the request steps that are left.
    _for_apps: dict[tuple[RequestProcessor, ...], Self] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        call: ToolCall = _run_tool
        for policy in reversed(self.tool_chain):
            call = policy.wrap(call)
        derived: Json = {
            "request_steps": self._steps(),
            "call_tool": call,
            "agents_hooked": any("_agent_" in hook for hook in self.hooks),
            "models_hooked": any("_model_" in hook for hook in self.hooks),
            "turns": next((p.turns for p in self.registry.all(TurnPolicy) if p.name == "turns"), _DEFAULT_TURNS),
            "prologues": tuple(one for one in self.registry.all(Prologue) if not one.follows),
            "late_prologues": tuple(one for one in self.registry.all(Prologue) if one.follows),
            "epilogues": tuple(self.registry.all(Epilogue)),
            "observers": tuple(self.registry.all(Observer)),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def _steps(self) -> tuple[RequestProcessor, ...]:
        return (*self.request_chain, *self.registry.all(ToolPreparation))

    def settings_of(self, plugin: str, model: type[M]) -> M:
        """The settings of a plugin; where it is not composed, those that `model` has by default."""
        settings = self.settings.get(plugin)
        return settings if isinstance(settings, model) else model()

    def with_hooks(self, first: Hooks) -> Self:
        """The same chains with the hooks of further plugins before their own."""
        merged = {}
        for name in (*self.hooks, *first):
            added, own = first.get(name, _NONE), self.hooks.get(name, _NONE)
            merged[name] = (added[0] + own[0], added[1] + own[1])
        return replace(self, hooks=merged)

    def for_app(self, app: object) -> Self:
        """The same chains, whose request steps leave out what has nothing to do for `app`; made once."""
        steps = tuple(step for step in self._steps() if step.serves is None or step.serves(app))
        if steps == self.request_steps:
            return self
        if steps not in self._for_apps:
            self._for_apps[steps] = new = replace(self)
            object.__setattr__(new, "request_steps", steps)
        return self._for_apps[steps]


def _run_tool(tool: BaseTool, args: Json, context: Context) -> Awaitable[Any]:
    """The innermost call: the tool itself."""
    return tool.run_async(args=args, tool_context=context)
