"""AutoFlow: the composed chains of an agent that may transfer to others.

Specified in docs/reference/behaviour.md#the-request-chain.
"""

from __future__ import annotations

from newel.flows.llm_flows.single_flow import SingleFlow


class AutoFlow(SingleFlow):
    """All processors of a composition, by default of the process's distribution, `agent_transfer` in its place."""

    transfers = True
