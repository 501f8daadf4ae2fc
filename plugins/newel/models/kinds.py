"""The kind `ModelProvider`, and the model that an address means."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from newel_kernel import BaseLlm, Chains, Descriptor, Key, Kind, ModelError, Settings, did_you_mean, hookimpl, hookspec

_MODELS = Key[dict[str, BaseLlm]]("models by address")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider(Descriptor):
    """Makes models from addresses: ``name:rest``, or a bare name that one of `patterns` matches fully."""

    create: Callable[[str], BaseLlm]
    patterns: tuple[str, ...] = ()
    #: The address to use where an agent names no model, or None (no key is set, say).
    default: Callable[[], str | None] | None = None
    description: str = ""
    #: Asked for a default only after every provider that is none.
    fallback: bool = False


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


@hookimpl
def register_kinds() -> list[Kind[Any]]:
    """The providers of models."""
    return [Kind(ModelProvider, register_model_providers)]


def model_of(chains: Chains, address: str) -> BaseLlm:
    """The model of an address: ``provider:rest`` or a name that a provider's pattern matches.

    An empty address is the first default that a provider offers. One model serves an address.
    """
    models = chains.stash.setdefault(_MODELS, {})
    if address not in models:
        resolved = address or default_model(chains)
        models[address] = _provider(chains, resolved).create(resolved)
    return models[address]


def _provider(chains: Chains, address: str) -> ModelProvider:
    providers = {provider.name: provider for provider in chains.registry.all(ModelProvider)}
    scheme, colon, _ = address.partition(":")
    if colon and scheme in providers:
        return providers[scheme]
    for provider in providers.values():
        if any(re.fullmatch(pattern, address) for pattern in provider.patterns):
            return provider
    schemes = [f"{name}:" for name in providers]
    hint = did_you_mean(f"{scheme}:", schemes) or did_you_mean(address, providers)
    raise ModelError(
        f"unknown model {address!r}{hint} (providers: {', '.join(sorted(schemes)) or 'none'})"
        f"{chains.registry.why_missing(ModelProvider)}"
    )


def default_model(chains: Chains) -> str:
    """The address used where an agent names no model; fallbacks are asked last."""
    for provider in sorted(chains.registry.all(ModelProvider), key=lambda provider: provider.fallback):
        if provider.default is not None and (address := provider.default()):
            return address
    raise ModelError(f"no model is set and no provider offers a default{chains.registry.why_missing(ModelProvider)}")
