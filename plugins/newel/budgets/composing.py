"""How the policy of budgets comes into a composition: by the plugin's settings, or by a run's `RunConfig`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import newel_compose
from newel.budgets.asking import note_and_ask
from newel.budgets.payer import PLUGIN, paying
from newel.budgets.settings import Settings
from newel.budgets.spending import limiting
from newel.models.kinds import ModelPolicy
from newel.models.policies.chain import PolicedLlm
from newel_kernel import ConfigurationError, Key, RequestProcessor, hookimpl

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from newel.models.contract import BaseLlm
    from newel_compose import Composition
    from newel_kernel import LlmRequest, LlmResponse

_APPLYING = Key["Composition"]("composition with budgets")


def policy_of(settings: Settings) -> ModelPolicy:
    """The policy around each call: inside retries, each of which is paid for, and outside of time limits."""
    return ModelPolicy(
        name=PLUGIN,
        wrap=limiting(settings),
        everywhere=True,
        after=("model_retries?", "model_traffic?"),
        before=("model_timeouts?", "malformed_calls?"),
    )


def processor() -> RequestProcessor:
    """The step that notes in each request whose it is, and asks a person where a limit says so."""
    return RequestProcessor(name=PLUGIN, run=note_and_ask, after=("basic?",))


def asked(model: BaseLlm, request: LlmRequest) -> AsyncGenerator[LlmResponse, None]:
    """The responses of a model that no agent asks, within the limits of who pays (`paid_by`, `evaluated`)."""
    chains = paying()
    if chains is None or isinstance(model, PolicedLlm):
        return model.generate_content_async(request)
    for policy in chains.registry.all(ModelPolicy):
        if policy.name == PLUGIN and policy.wrap is not None:
            return policy.wrap(_ask, chains)(model, request, False)
    return model.generate_content_async(request)


def _ask(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
    return model.generate_content_async(request, stream=stream)


class _Applied:
    """The hooks of the plugin for a composition whose settings have no limit."""

    #: A composition for an agent that is a tool keeps it, although it leaves out what was given to a runner.
    __newel_stays__ = True

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @hookimpl
    def register_model_call_policies(self) -> list[ModelPolicy]:
        """The policy `budgets`."""
        return [policy_of(self._settings)]

    @hookimpl
    def register_request_processors(self) -> list[RequestProcessor]:
        """The processor `budgets`."""
        return [processor()]


def applying(composition: Composition, app: object) -> Composition:
    """The composition within whose policies limits hold: the same if its settings have limits; else made once."""
    if PLUGIN not in composition.settings:
        raise ConfigurationError(
            f"RunConfig.budgets needs the plugin {PLUGIN!r}: name it in the distribution, as `standard` does"
        )
    settings = composition.settings_of(PLUGIN, Settings)
    if settings.limits or any(isinstance(one, _Applied) for one in composition.objects):
        return composition
    if (made := composition.stash.get(_APPLYING, None)) is None:
        made = composition.stash[_APPLYING] = newel_compose.extend(composition, [_Applied(settings)])
    return made.for_app(app)
