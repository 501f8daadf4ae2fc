"""The kinds `ModelProvider` and `ModelPolicy`, and how an address becomes a model."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import newel_compose
from newel import models
from newel.models.catalogue import ending
from newel.models.overrides import Settings as OverrideSettings
from newel.models.overrides import with_overrides
from newel.models.registry import LLMRegistry
from newel_kernel import (
    Chains,
    ConfigurationError,
    Key,
    LlmRequest,
    LlmResponse,
    ModelError,
    NewelError,
    Settings,
    Stage,
    did_you_mean,
    hookspec,
    is_interrupt,
)

if TYPE_CHECKING:
    from newel.models.contract import BaseLlm

logger = logging.getLogger(__name__)

_MODELS = Key[dict[str, "BaseLlm"]]("models by address")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider(Stage):
    """Makes models from addresses: ``name:rest``, or a bare name that one of `patterns` matches fully."""

    create: Callable[[str], BaseLlm]
    patterns: tuple[str, ...] = ()
    #: The address to use if an agent names no model, or None (for example because no key is set).
    default: Callable[[], str | None] | None = None
    description: str = ""
    #: Asked for a default only after all providers that are not fallbacks.
    fallback: bool = False

    @property
    def phase(self) -> int:
        """Fallbacks come last."""
        return int(self.fallback)

    def check(self) -> None:
        """Raise a ValueError if a pattern is not a regular expression."""
        for pattern in self.patterns:
            try:
                re.compile(pattern)
            except (re.error, TypeError) as error:
                raise ValueError(f"its pattern {pattern!r} is not a regular expression: {error}") from None


#: What a policy does about an error.
Recovery = Union["Retry", LlmResponse, None]
#: Asks a model: (model, request, stream) -> its responses.
ModelCall = Callable[["BaseLlm", LlmRequest, bool], AsyncGenerator[LlmResponse, None]]


class Attempt:
    """A call of a model as a policy sees it: what a policy further out decided is in it."""

    __slots__ = ("model", "request", "stream")

    def __init__(self, model: BaseLlm, request: LlmRequest, stream: bool) -> None:
        self.model = model
        self.request = request
        self.stream = stream


@dataclass(frozen=True, slots=True)
class Retry:
    """What a policy answers to an error: everything within it begins again."""

    #: Seconds to wait before that; None: not even for the other tasks of the event loop.
    delay: float | None = None
    #: The model to ask, or its address, with a copy of the request that names it; None: the one that failed.
    model: BaseLlm | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPolicy(Stage):
    """What happens around each call of a networked model, in phases; what a policy leaves out costs nothing.

    Policies nest: what the first one of the chain sees has passed all others. The phases of all policies run in one
    generator. A phase may raise; policies further out then see that error.
    """

    #: Whether it also applies to models that are not networked.
    everywhere: bool = False
    #: Before each attempt: makes what the other phases get as their first argument, None if the policy has nothing
    #: to do for this call. Without it, they get the attempt.
    begin: Callable[[Attempt], Any] | None = None
    #: After `begin`: another model to ask, or its address; the request then names it. None: the same model.
    redirect: Callable[[Any], BaseLlm | str | None] | None = None
    #: After these: waits until the call may go on.
    enter: Callable[[Any], Awaitable[None]] | None = None
    #: Whether what `begin` made is a context manager, to be entered around each wait for a response.
    holds_waits: bool = False
    #: On a response that is whole, and on a chunk of a stream: what goes on from here in its place; None: nothing.
    response: Callable[[Any, LlmResponse], LlmResponse | None] | None = None
    chunk: Callable[[Any, LlmResponse], LlmResponse | None] | None = None
    #: After the last response: one more, or None.
    end: Callable[[Any], LlmResponse | None] | None = None
    #: On an Exception, and whether a response had come to this policy before: what to do, an answer in its place, or
    #: None, which leaves it to the policies further out. May be a coroutine function.
    error: Callable[[Any, Exception, bool], Recovery | Awaitable[Recovery]] | None = None
    #: When the attempt is over, whatever ended it; if `begin` and `enter` had ended well.
    close: Callable[[Any], None] | None = None
    #: For a policy that must hold the call itself: gets the call of all that is within, and the composition. It costs
    #: two generators for each call. Such a policy has no phases.
    wrap: Callable[[ModelCall, Chains], ModelCall] | None = None

    @property
    def acts(self) -> bool:
        """Whether it has phases."""
        phases = (self.begin, self.redirect, self.enter, self.response, self.chunk, self.end, self.error, self.close)
        return any(phase is not None for phase in phases)

    def __post_init__(self) -> None:
        if self.wrap is not None and self.acts:
            raise ConfigurationError(
                f"the policy {self.name!r} has both `wrap` and phases: make two policies, one anchored to the other"
            )
        if self.begin is None and (self.holds_waits or self.redirect or self.enter or self.close):
            raise ConfigurationError(
                f"the policy {self.name!r} needs `begin`: `redirect`, `enter`, `close` and `holds_waits` work with "
                f"what it makes"
            )


def model_of(chains: Chains, address: str) -> BaseLlm:
    """The model of an address: ``provider:rest`` or a name that a provider's pattern matches.

    An empty address means the first default that a provider offers. Each address has one model.
    """
    models = chains.stash.setdefault(_MODELS, {})
    if address not in models:
        resolved = address or default_model(chains)
        if told := ending(resolved):
            logger.warning("%s", told)
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
    if not isinstance(model, models.BaseLlm):
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
    hint = _respelt(address, providers) or did_you_mean(f"{scheme}:", schemes) or did_you_mean(address, providers)
    raise ModelError(
        f"unknown model {address!r}{hint} (providers: {', '.join(sorted(schemes)) or 'none'})"
        f"{chains.registry.why_missing(ModelProvider)}"
    )


def _respelt(address: str, providers: Mapping[str, ModelProvider]) -> str:
    """A hint at the address in the spelling of providers: in small letters, with a dash before the version."""
    scheme, colon, name = address.lower().partition(":")
    if colon:
        return f"; did you mean {f'{scheme}:{name}'!r}?" if scheme in providers else ""
    dashed = re.sub(r"^([a-z]+)[ _]?(\d)", r"\1-\2", scheme)
    claimed = any(re.fullmatch(pattern, dashed) for one in providers.values() for pattern in one.patterns)
    return f"; did you mean {dashed!r}?" if claimed else ""


def _plugin(chains: Chains, provider: ModelProvider) -> str:
    """The plugin of a provider, in words."""
    registry = chains.registry
    if not isinstance(registry, newel_compose.PluginRegistry):
        return f"the provider {provider.name!r}"
    owned = registry.owned(ModelProvider)[provider.name]
    return f"the plugin {owned.plugin!r} ({owned.source})"


def _offered(name: str, default: Callable[[], str | None]) -> str | None:
    """The address that a provider offers; one that fails offers none, and is named."""
    try:
        return default()
    except NewelError:
        raise
    except BaseException as error:  # SystemExit, too: the code may be another package's
        if is_interrupt(error):
            raise
        text = "newel: the model provider %r offers no default, because that failed: %s; disable or uninstall it"
        logging.getLogger("newel.plugins").warning(text, name, newel_compose.describe_error(error))
        return None


def default_model(chains: Chains) -> str:
    """The address used if an agent names no model: the first that a provider offers, in the order of providers."""
    for provider in chains.registry.all(ModelProvider):
        if provider.default is not None and (address := _offered(provider.name, provider.default)):
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

    Their place is in `orders: model_chain` of the distribution, or next to an anchor.

    >>> def counted(attempt, response):
    ...     print(attempt.request.model, response.usage_metadata)
    ...     return response
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_model_call_policies(self):
    ...         return [ModelPolicy(name="counted", response=counted, after=("model_retries",))]
    >>> composed = compose("standard", plugins=[Plugin()])
    >>> composed.registry.find(ModelPolicy, "counted").name
    'counted'
    """
    return ()
