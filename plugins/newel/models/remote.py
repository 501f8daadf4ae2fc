"""RemoteLlm: the base of models that are reached through a network."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Mapping
from typing import Any, ClassVar, cast

from pydantic import Field, PrivateAttr

from newel.models.capabilities import capabilities_of
from newel.models.contract import BaseLlm, ModelCapabilities
from newel.models.kinds import Attempt
from newel.models.live import FRAME_BYTES
from newel.models.policies.model_retries import Settings, retrying
from newel.models.policies.model_timeouts import bounding
from newel.models.policies.phases import Phases
from newel.models.wire.limits import LIMITS, POLICED, Limits
from newel.models.wire.notices import Notices
from newel_kernel import LlmRequest, LlmResponse
from newel_types import HttpRetryOptions

Responses = AsyncGenerator[LlmResponse, None]


class RemoteLlm(BaseLlm):
    """A model behind a service. Implement `_answers`; timeouts, retries and the like wrap it."""

    #: The provider's name in addresses, errors, signatures and notices.
    provider: ClassVar[str]
    #: Its calls go through the policies of the composition.
    networked: ClassVar[bool] = True

    #: How failed requests are repeated; None: as the composition says.
    retry_options: HttpRetryOptions | None = None
    #: Capabilities of this model that differ from the table, by field of `ModelCapabilities`.
    capability_overrides: Mapping[str, Any] = Field(default_factory=dict)
    limits: Limits = Limits()
    #: How many bytes a message of a live connection may have.
    frame_bytes: int = Field(default=FRAME_BYTES, gt=0)

    _notices: Notices | None = PrivateAttr(default=None)

    @property
    def capabilities(self) -> ModelCapabilities:  # type: ignore[override]
        """The model's capabilities in the table, changed by `capability_overrides`."""
        return capabilities_of(self.provider, self.model, self.capability_overrides)

    def capabilities_for(self, request: LlmRequest) -> ModelCapabilities:
        """The capabilities of the model that a request names."""
        return capabilities_of(self.provider, self.model_name(request), self.capability_overrides)

    def model_name(self, request: LlmRequest) -> str:
        """The model's name as the service knows it."""
        return (request.model or self.model).removeprefix(f"{self.provider}:")

    def say_once(self, request: LlmRequest, setting: str, text: str) -> None:
        """Report, once for the model, that something of `setting` is left out or changed."""
        if self._notices is None:
            self._notices = Notices(self.provider)
        self._notices.say(self.model_name(request), setting, text)

    def limits_for(self, request: LlmRequest) -> Limits:
        """The limits of a call: the composition's or the model's own, with the request's timeout."""
        return request.stash.get(LIMITS, self.limits).for_call(request.http_options)

    def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Responses:
        """See `BaseLlm`. A failure is a ModelError; closing the generator closes the connection's answer.

        A call outside a composition has the default timeouts and retries.
        """
        if llm_request.stash.get(POLICED, False):
            return self._answers(llm_request, stream)
        return _ALONE.answers(self, llm_request, stream)

    @abstractmethod
    def _answers(self, request: LlmRequest, stream: bool) -> Responses:
        """One request to the service, and its answer, as `BaseLlm.generate_content_async` describes it.

        It makes one attempt, and raises ModelError if that fails.
        """


def _limits(attempt: Attempt) -> Limits:
    return cast("RemoteLlm", attempt.model).limits_for(attempt.request)


def _once(model: BaseLlm, request: LlmRequest, stream: bool) -> Responses:
    return cast("RemoteLlm", model)._answers(request, stream)


#: What surrounds a call outside of a composition.
_ALONE = Phases([retrying(Settings()), bounding(_limits)], _once)
