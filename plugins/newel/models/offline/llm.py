"""OfflineLlm: the base of models that need no service, and answer over live connections, too."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import ClassVar

from newel.models import offline
from newel.models.contract import BaseLlm, BaseLlmConnection, LiveCapabilities, ModelCapabilities
from newel_kernel import LlmRequest

#: Offline models hear how long the user speaks, and speak in tones.
LIVE = LiveCapabilities()


class OfflineLlm(BaseLlm):
    """A model that answers a live connection's turns as it answers requests."""

    capabilities: ClassVar[ModelCapabilities] = ModelCapabilities(live=LIVE)

    def connect(self, llm_request: LlmRequest) -> AbstractAsyncContextManager[BaseLlmConnection]:
        """A live connection, in text or in tones."""
        return offline.connected(self, llm_request)
