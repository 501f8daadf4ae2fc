"""The chain of policies around a model, put together once for a composition."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from typing import Any

from pydantic import Field

from newel.models.contract import BaseLlm, ModelCapabilities
from newel.models.kinds import ModelCall, ModelPolicy, model_of
from newel.models.policies.phases import Phases
from newel.models.wire.answer import MALFORMED_CALLS
from newel.models.wire.limits import POLICED
from newel_kernel import Chains, Key, LlmRequest, LlmResponse

_CALLS = Key[dict[bool, ModelCall]]("policies around models", dict)
_POLICED = Key[dict[int, tuple[BaseLlm, BaseLlm]]]("models within their policies", dict)
_MOST = 256


def policed(chains: Chains, model: BaseLlm) -> BaseLlm:
    """`model` within the composition's policies; if it is not networked, only within the policies for every model."""
    models = chains.stash[_POLICED]
    entry = models.get(id(model))
    if entry is None or entry[0] is not model:
        if len(models) >= _MOST:
            models.clear()
        call = call_of(chains, networked=model.networked)
        entry = models[id(model)] = (
            model,
            model if call is _ask else PolicedLlm(model=model.model, inner=model, call=call),
        )
    return entry[1]


def surround(chains: Chains, around: Callable[[ModelCall], ModelCall]) -> None:
    """Put `around` around every model of `chains`, outside all policies; before any of them has been asked."""
    chains.stash[_CALLS] = {networked: around(call_of(chains, networked=networked)) for networked in (True, False)}


def call_of(chains: Chains, *, networked: bool = True) -> ModelCall:
    """The call of a model within all policies that apply to it, the first policy outermost."""
    calls = chains.stash[_CALLS]
    if networked not in calls:
        policies = chains.registry.all(ModelPolicy)
        applying = [policy for policy in policies if networked or policy.everywhere]
        if networked and all(policy.name != "malformed_calls" for policy in policies):
            applying.append(_STRICT)
        calls[networked] = _within(applying, _ask_policed if networked else _ask, chains)
    return calls[networked]


def _within(policies: Sequence[ModelPolicy], ask: ModelCall, chains: Chains) -> ModelCall:
    """`ask` within policies. One generator runs all the phases between two policies that wrap the call."""
    if not any(policy.wrap is not None or policy.acts for policy in policies):
        return ask
    resolve = partial(model_of, chains)
    phases: list[ModelPolicy] = []
    call: ModelCall | None = None
    for policy in reversed(policies):
        if policy.wrap is None and not (policy.holds_waits and phases):
            phases.insert(0, policy)
            continue
        if phases or call is None:  # the innermost ones also check what the model yields
            call = Phases(phases, call or ask, resolve).answers
        phases = []
        if policy.wrap is not None:
            call = policy.wrap(call, chains)
        else:
            phases = [policy]
    return Phases(phases, call or ask, resolve).answers if phases or call is None else call


def _ask(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
    return model.generate_content_async(request, stream=stream)


def _ask_policed(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
    request.stash[POLICED] = True
    return model.generate_content_async(request, stream=stream)


def _without_malformed_calls(attempt: object, response: LlmResponse) -> LlmResponse:
    """Of an answer with malformed calls only the error, if no policy holds the calls back."""
    return (
        response.model_copy(update={"content": None})
        if MALFORMED_CALLS in (response.custom_metadata or ())
        else response
    )


_STRICT = ModelPolicy(name="(malformed calls)", response=_without_malformed_calls, chunk=_without_malformed_calls)


class PolicedLlm(BaseLlm):
    """A model within the policies of a composition; in all other respects it is like the model itself."""

    inner: BaseLlm
    #: Calls the model within the policies.
    call: ModelCall = Field(exclude=True, repr=False)

    @property
    def networked(self) -> bool:  # type: ignore[override]
        """As the wrapped model says."""
        return self.inner.networked

    @property
    def capabilities(self) -> ModelCapabilities:  # type: ignore[override]
        """As the wrapped model says."""
        return self.inner.capabilities

    @property
    def provider_name(self) -> str:  # type: ignore[override]
        """As the wrapped model says, else its class."""
        return self.inner.provider_name or type(self.inner).__name__

    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The model's responses within the policies."""
        return self.call(self.inner, llm_request, stream)

    def connect(self, llm_request: LlmRequest) -> Any:
        """The model's live connection; no policy wraps it."""
        return self.inner.connect(llm_request)
