"""The kinds `ModelProvider` and `ModelPolicy`, and how an address becomes a model."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import newel_compose
import newel_kernel
from newel.models.overrides import Settings as OverrideSettings
from newel.models.overrides import with_overrides
from newel.models.registry import LLMRegistry
from newel_kernel import (
    Chains,
    Descriptor,
    Key,
    LlmRequest,
    LlmResponse,
    ModelError,
    NewelError,
    Settings,
    Stage,
    did_you_mean,
    hookspec,
)

if TYPE_CHECKING:
    from newel_kernel import BaseLlm

_MODELS = Key[dict[str, "BaseLlm"]]("models by address")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider(Descriptor):
    """Makes models from addresses: ``name:rest``, or a bare name that one of `patterns` matches fully."""

    create: Callable[[str], BaseLlm]
    patterns: tuple[str, ...] = ()
    #: The address to use where an agent names no model, or None (no key is set, say).
    default: Callable[[], str | None] | None = None
    description: str = ""
    #: Asked for a default only after all providers that are no fallback.
    fallback: bool = False


#: Asks a model: (model, request, stream) -> its responses.
ModelCall = Callable[["BaseLlm", LlmRequest, bool], AsyncGenerator[LlmResponse, None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPolicy(Stage):
    """Wraps every call of a networked model: `wrap` gets the next inner call, and the composition."""

    wrap: Callable[[ModelCall, Chains], ModelCall]
    #: Whether it also wraps the calls of models that are not networked.
    everywhere: bool = False


def model_of(chains: Chains, address: str) -> BaseLlm:
    """The model of an address: ``provider:rest`` or a name that a provider's pattern matches.

    An empty address means the first default that a provider offers. Each address has one model.
    """
    models = chains.stash.setdefault(_MODELS, {})
    if address not in models:
        resolved = address or default_model(chains)
        registered = LLMRegistry.find(resolved)
        models[address] = registered(model=resolved) if registered else _create(chains, resolved)
    return models[address]


def _create(chains: Chains, address: str) -> BaseLlm:
    """The model that a provider makes; a fault of the provider is a ModelError that names its plugin."""
    provider = _provider(chains, address)
    try:
        model = provider.create(address)
    except (NewelError, OSError):
        raise
    except Exception as error:
        reason = newel_compose.describe_error(error)
        raise ModelError(f"{_plugin(chains, provider)} cannot make the model {address!r}: {reason}") from error
    if not isinstance(model, newel_kernel.BaseLlm):
        raise ModelError(
            f"{_plugin(chains, provider)} made {type(model).__name__} of the address {address!r}; `create` must return "
            f"a BaseLlm"
        )
    return with_overrides(model, address, chains.settings_of("models", OverrideSettings))


def _provider(chains: Chains, address: str) -> ModelProvider:
    """The provider that an address names, or the only one that claims a bare name."""
    providers = {provider.name: provider for provider in chains.registry.all(ModelProvider)}
    scheme, colon, _ = address.partition(":")
    if colon and scheme in providers:
        return providers[scheme]
    claims = [p for p in providers.values() if any(re.fullmatch(pattern, address) for pattern in p.patterns)]
    if len(claims) == 1:
        return claims[0]
    if claims:
        raise ModelError(
            f"the model {address!r} is claimed by {' and '.join(_plugin(chains, p) for p in claims)}: "
            f"write {' or '.join(repr(f'{p.name}:{address}') for p in claims)}"
        )
    schemes = [f"{name}:" for name in providers]
    hint = did_you_mean(f"{scheme}:", schemes) or did_you_mean(address, providers)
    raise ModelError(
        f"unknown model {address!r}{hint} (providers: {', '.join(sorted(schemes)) or 'none'})"
        f"{chains.registry.why_missing(ModelProvider)}"
    )


def _plugin(chains: Chains, provider: ModelProvider) -> str:
    """The plugin of a provider, in words."""
    registry = chains.registry
    if not isinstance(registry, newel_compose.PluginRegistry):
        return f"the provider {provider.name!r}"
    owned = registry.owned(ModelProvider)[provider.name]
    return f"the plugin {owned.plugin!r} ({owned.source})"


def default_model(chains: Chains) -> str:
    """The address used where an agent names no model; fallbacks are asked last."""
    for provider in sorted(chains.registry.all(ModelProvider), key=lambda provider: provider.fallback):
        if provider.default is not None and (address := provider.default()):
            return address
    raise ModelError(f"no model is set and no provider offers a default{chains.registry.why_missing(ModelProvider)}")


@hookspec
def register_model_providers(settings: Settings) -> Sequence[ModelProvider]:
    """Providers of models. Makes a model from an address such as ``parrot:loud``.

    The SDK is imported in `create`, never in the plugin.

    >>> def parrot(address):
    ...     return ScriptedModel([address])
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_model_providers(self):
    ...         return [ModelProvider(name="parrot", create=parrot, patterns=("parrot-.*",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(ModelProvider, "parrot").name
    'parrot'
    """
    return ()


@hookspec
def register_model_call_policies(settings: Settings) -> Sequence[ModelPolicy]:
    """Policies around each call of a networked model. May bound it, repeat it, answer for it, change its answer.

    >>> def logged(call, chains):
    ...     def ask(model, request, stream):
    ...         print(request.model)
    ...         return call(model, request, stream)
    ...     return ask
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_model_call_policies(self):
    ...         return [ModelPolicy(name="logged", wrap=logged, after=("model_retries",))]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(ModelPolicy, "logged").name
    'logged'
    """
    return ()
