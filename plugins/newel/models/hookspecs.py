"""How plugins provide what this room declares in `kinds`."""

from __future__ import annotations

from collections.abc import Sequence

from newel.models.kinds import ModelPolicy, ModelProvider
from newel_kernel import Settings, hookspec


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
