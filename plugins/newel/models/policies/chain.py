"""The chain of policies around a model, put together once for a composition."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from graphlib import TopologicalSorter
from typing import Any, cast

from pydantic import BaseModel, PrivateAttr

from newel.models.kinds import ModelCall, ModelPolicy
from newel.models.wire.answer import MALFORMED_CALLS
from newel.models.wire.limits import POLICED
from newel_kernel import BaseLlm, Chains, HookSignatureError, Key, LlmRequest, LlmResponse, ModelCapabilities

_CALLS = Key[dict[bool, ModelCall]]("policies around models", dict)
_POLICED = Key[dict[int, tuple[BaseLlm, BaseLlm]]]("models within their policies", dict)
_MOST = 256
_OWN_PREFIX = "newel."


def policed(chains: Chains, model: BaseLlm) -> BaseLlm:
    """`model` within the composition's policies; if it is not networked, only within the policies for every model."""
    models = chains.stash[_POLICED]
    entry = models.get(id(model))
    if entry is None or entry[0] is not model:
        if len(models) >= _MOST:
            models.clear()
        call = call_of(chains, networked=model.networked)
        entry = models[id(model)] = (model, model if call is _ask else PolicedLlm.around(model, call))
    return entry[1]


def call_of(chains: Chains, *, networked: bool = True) -> ModelCall:
    """The call of a model within all policies that apply to it, the first policy outermost."""
    calls = chains.stash[_CALLS]
    if networked not in calls:
        policies = chains.registry.all(ModelPolicy)
        strictly = networked and all(policy.name != "malformed_calls" for policy in policies)
        call: ModelCall = _ask_strictly if strictly else _ask
        for policy in reversed(ordered(policies)):
            if networked or policy.everywhere:
                call = policy.wrap(call, chains)
        calls[networked] = call
    return calls[networked]


def ordered(policies: Sequence[ModelPolicy]) -> list[ModelPolicy]:
    """The policies in the order that `after` and `before` ask for. An absent anchor is ignored."""
    by_name = {policy.name: policy for policy in policies}
    graph: dict[str, set[str]] = {name: set() for name in by_name}
    for policy in policies:
        graph[policy.name].update(name for name in policy.after if name in graph)
        for later in policy.before:
            if later in graph:
                graph[later].add(policy.name)
    return [by_name[name] for name in TopologicalSorter(graph).static_order()]


def _ask(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
    request.stash[POLICED] = True
    answers = model.generate_content_async(request, stream=stream)
    return answers if type(model).__module__.startswith(_OWN_PREFIX) else _checked(model, answers)


async def _checked(model: BaseLlm, answers: object) -> AsyncGenerator[LlmResponse, None]:
    """The responses of a model that is not newel's own, checked to be responses."""
    who = f"the model {type(model).__qualname__}"
    if not isinstance(answers, AsyncGenerator):
        if inspect.iscoroutine(answers):
            answers.close()  # nothing will await it
        raise HookSignatureError(
            f"{who}: generate_content_async returned {type(answers).__name__}; it must be an async generator, which "
            f"yields responses"
        )
    async with aclosing(answers) as responses:
        async for response in responses:
            if not isinstance(response, (LlmResponse, BaseModel)):  # another library's LlmResponse is accepted
                raise HookSignatureError(
                    f"{who}: generate_content_async yielded {type(response).__name__}; it must yield LlmResponse"
                )
            yield cast("LlmResponse", response)


async def _ask_strictly(model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
    """The responses; of an answer with malformed calls only the error, as no policy here holds the calls back."""
    async with aclosing(_ask(model, request, stream)) as responses:
        async for response in responses:
            if MALFORMED_CALLS in (response.custom_metadata or ()):
                response = response.model_copy(update={"content": None})
            yield response


class PolicedLlm(BaseLlm):
    """A model within the policies of a composition; in all other respects it is like the model itself."""

    inner: BaseLlm
    _call: ModelCall = PrivateAttr()

    @classmethod
    def around(cls, model: BaseLlm, call: ModelCall) -> PolicedLlm:
        """`model`, called through `call`."""
        result = cls(model=model.model, inner=model)
        result._call = call
        return result

    @property
    def networked(self) -> bool:  # type: ignore[override]
        """The model's."""
        return self.inner.networked

    @property
    def capabilities(self) -> ModelCapabilities:  # type: ignore[override]
        """The model's."""
        return self.inner.capabilities

    @property
    def provider_name(self) -> str:  # type: ignore[override]
        """The model's."""
        return self.inner.provider_name

    def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The model's responses within the policies."""
        return self._call(self.inner, llm_request, stream)

    def connect(self, llm_request: LlmRequest) -> Any:
        """The model's live connection; no policy wraps it."""
        return self.inner.connect(llm_request)
