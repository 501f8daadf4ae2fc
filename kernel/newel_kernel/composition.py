"""Composition: the frozen result of composing a distribution's plugins."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from newel_kernel.contracts.descriptors import (
    ModelProvider,
    RequestProcessor,
    ResponseProcessor,
    ResultProcessor,
    ToolPolicy,
)
from newel_kernel.contracts.model import BaseLlm
from newel_kernel.distribution import Distribution
from newel_kernel.errors import ConfigurationError, FeatureUnavailableError, ModelError, did_you_mean
from newel_kernel.hooks import Callbacks
from newel_kernel.ordering import Owned, Placed

if TYPE_CHECKING:
    from newel_kernel.context import Context
    from newel_kernel.contracts.descriptors import ToolCall
    from newel_kernel.contracts.tool import BaseTool

Hooks = Mapping[str, tuple[Callbacks, Callbacks]]


@dataclass(frozen=True, slots=True)
class PluginRecord:
    """What became of a plugin: `state` is enabled, disabled, failed or available; `why` says the reason."""

    name: str
    distribution: str
    version: str
    state: str
    why: str
    hooks: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Distribution and version as one text."""
        return f"{self.distribution} {self.version}".strip()


@dataclass(frozen=True, slots=True)
class Composition:
    """The chains, hooks and registries of a runtime. Made once; nothing in it changes but its model cache."""

    distribution: Distribution
    placed: Mapping[str, tuple[Placed, ...]]
    #: Hook name -> (plugins' implementations, fallbacks), of the hooks that have any.
    hooks: Hooks
    #: Kind of descriptor -> name -> descriptor and owner.
    registry: Mapping[str, Mapping[str, Owned]]
    plugins: tuple[PluginRecord, ...]
    #: Plugin name -> its validated settings.
    settings: Mapping[str, BaseModel] = field(default_factory=dict)
    #: The plugin objects that were handed in directly.
    given: tuple[Any, ...] = ()
    request_chain: tuple[RequestProcessor, ...] = ()
    response_chain: tuple[ResponseProcessor, ...] = ()
    result_chain: tuple[ResultProcessor, ...] = ()
    tool_chain: tuple[ToolPolicy, ...] = ()
    #: Runs a tool within the policies of the tool chain.
    call_tool: ToolCall = field(init=False)
    #: What of the request chain the loop runs, and what follows it.
    request_steps: tuple[RequestProcessor, ...] = field(init=False)
    #: Whether a plugin has hooks around agents, and around their models: each run and each call looks at these.
    agents_hooked: bool = field(init=False)
    models_hooked: bool = field(init=False)
    #: What runs before and after an agent, and what watches.
    prologues: tuple[Any, ...] = field(init=False)
    epilogues: tuple[Any, ...] = field(init=False)
    observers: tuple[Any, ...] = field(init=False)
    _models: dict[str, BaseLlm] = field(default_factory=dict)
    #: What `for_app` made, by the request steps that are left.
    _served: dict[Any, Composition] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "request_steps", self._steps())
        for kind in ("agent", "model"):
            object.__setattr__(self, f"{kind}s_hooked", any(f"_{kind}_" in hook for hook in self.hooks))
        call: ToolCall = _run_tool
        for policy in reversed(self.tool_chain):
            call = policy.wrap(call)
        object.__setattr__(self, "call_tool", call)
        object.__setattr__(self, "prologues", tuple(self.all("Prologue")))
        object.__setattr__(self, "epilogues", tuple(self.all("Epilogue")))
        object.__setattr__(self, "observers", tuple(self.all("Observer")))

    def _steps(self) -> tuple[RequestProcessor, ...]:
        return (*self.request_chain, *self.all("ToolPreparation"))

    def with_hooks(self, first: Hooks) -> Composition:
        """The same composition with the hooks of further plugins before its own."""
        none: tuple[Callbacks, Callbacks] = ((), ())
        merged = {}
        for name in (*self.hooks, *first):
            given, own = first.get(name, none), self.hooks.get(name, none)
            merged[name] = (given[0] + own[0], given[1] + own[1])
        return replace(self, hooks=merged)

    def for_app(self, app: Any) -> Composition:
        """The same composition, whose request steps leave out what has nothing to do for `app`; made once."""
        steps = tuple(one for one in self._steps() if one.serves is None or one.serves(app))
        if steps == self.request_steps:
            return self
        if steps not in self._served:
            self._served[steps] = new = replace(self)
            object.__setattr__(new, "request_steps", steps)
        return self._served[steps]

    def find(self, kind: str, name: str) -> Any:
        """The descriptor of that kind and name; a ConfigurationError names those there are."""
        known = self.registry.get(kind, {})
        if name in known:
            return known[name].item
        raise ConfigurationError(
            f"no plugin provides the {_words(kind)} {name!r}{did_you_mean(name, known)} "
            f"(there are: {', '.join(sorted(known)) or 'none'}){self._disabled_hint()}"
        )

    def all(self, kind: str) -> list[Any]:
        """The descriptors of a kind."""
        return [owned.item for owned in self.registry.get(kind, {}).values()]

    def model(self, address: str) -> BaseLlm:
        """The model of an address: ``provider:rest`` or a name that a provider's pattern matches.

        An empty address is the first default that a provider offers. One model serves an address.
        """
        if address not in self._models:
            wanted = address or self.default_model()
            self._models[address] = self._provider(wanted).create(wanted)
        return self._models[address]

    def _provider(self, address: str) -> ModelProvider:
        providers = self.registry.get("ModelProvider", {})
        scheme, colon, _ = address.partition(":")
        if colon and scheme in providers:
            return providers[scheme].item  # type: ignore[no-any-return]
        for owned in providers.values():
            if any(re.fullmatch(pattern, address) for pattern in owned.item.patterns):
                return owned.item  # type: ignore[no-any-return]
        schemes = [f"{name}:" for name in providers]
        hint = did_you_mean(f"{scheme}:", schemes) or did_you_mean(address, providers)
        raise ModelError(
            f"unknown model {address!r}{hint} (providers: {', '.join(sorted(schemes)) or 'none'})"
            f"{self._disabled_hint()}"
        )

    def default_model(self) -> str:
        """The address used where an agent names no model; fallbacks are asked last."""
        for provider in sorted(self.all("ModelProvider"), key=lambda p: p.fallback):
            if provider.default is not None and (address := provider.default()):
                return str(address)
        raise ModelError(f"no model is set and no provider offers a default{self._disabled_hint()}")

    def service(self, kind: str, uri: str | None = None) -> Any:
        """A store of `kind` ('session', 'artifact', 'memory', 'credential') from a URI or the distribution's own."""
        address = uri if uri is not None else self.distribution.services.get(kind)
        if not address:
            return None
        scheme = address.partition(":")[0]
        known = self.registry.get(_BACKENDS[kind], {})
        if scheme not in known:
            raise FeatureUnavailableError(
                f"no plugin provides a {kind} store for {address!r}"
                f"{did_you_mean(scheme, known)} (there are: {', '.join(f'{n}:' for n in sorted(known)) or 'none'})"
                f"{self._disabled_hint()}"
            )
        return known[scheme].item.open(address)

    def adapt_tool(self, entry: Any) -> Any:
        """A tool made of a foreign object, by the first adapter that accepts it."""
        adapters = self.registry.get("ToolAdapter", {})
        for owned in sorted(adapters.values(), key=lambda owned: owned.item.fallback):
            if owned.item.accepts(entry):
                return owned.item.adapt(entry)
        raise ConfigurationError(
            f"{entry!r} is no tool: no adapter accepts it "
            f"(adapters: {', '.join(sorted(adapters)) or 'none'}){self._disabled_hint()}"
        )

    def _disabled_hint(self) -> str:
        disabled = self.distribution.disable
        return f"; distribution {self.distribution.name!r} disables {', '.join(disabled)}" if disabled else ""


def _run_tool(tool: BaseTool, args: dict[str, Any], context: Context) -> Awaitable[Any]:
    """The innermost call: the tool itself."""
    return tool.run_async(args=args, tool_context=context)


_BACKENDS = {
    "session": "SessionBackend",
    "artifact": "ArtifactBackend",
    "memory": "MemoryBackend",
    "credential": "CredentialBackend",
}


def _words(kind: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower()
