"""SingleFlow: the composed chains of an agent that transfers to nobody.

Specified in docs/reference/behaviour.md#the-request-chain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import newel_compose
from newel.flows.llm_flows._composed import ComposedRequestProcessor, ComposedResponseProcessor
from newel.flows.llm_flows.base_llm_flow import BaseLlmFlow

if TYPE_CHECKING:
    from newel_kernel import Chains

_TRANSFER = "agent_transfer"


class SingleFlow(BaseLlmFlow):
    """The processors of a composition, by default of the process's distribution, without `agent_transfer`."""

    #: Whether `agent_transfer` is among them.
    transfers = False

    def __init__(self, composition: Chains | None = None) -> None:
        super().__init__()
        chains = composition or newel_compose.compose_once()
        names = [one.name for one in chains.request_chain if self.transfers or one.name != _TRANSFER]
        self.request_processors.extend(map(ComposedRequestProcessor, names))
        self.response_processors.extend(ComposedResponseProcessor(one.name) for one in chains.response_chain)
