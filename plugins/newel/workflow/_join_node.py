"""JoinNode: waits for all its predecessors."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from newel.workflow._base_node import BaseNode
from newel.workflow.coercion import fit_plain
from newel.workflow.context import NodeContext


class JoinNode(BaseNode):
    """Runs after all its predecessors; its output is theirs, by name. Each of them must fit the input schema."""

    _requires_all_predecessors: ClassVar[bool] = True

    def _validate_input_data(self, value: Any) -> dict[str, object]:
        """Each predecessor's output as the input schema asks."""
        return {name: fit_plain(output, self.input_schema) for name, output in value.items()}

    @property
    def __newel_starts_nodes__(self) -> bool:
        """False: its code never runs other nodes."""
        return False

    async def _run_impl(self, *, ctx: NodeContext, node_input: object) -> AsyncGenerator[object, None]:
        yield node_input
