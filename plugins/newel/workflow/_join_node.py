"""JoinNode: waits for all its predecessors."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, ClassVar

from newel.workflow._base_node import BaseNode
from newel.workflow.coercion import fit_plain

if TYPE_CHECKING:
    from newel.workflow.context import NodeContext


class JoinNode(BaseNode):
    """Runs once every predecessor has; its output is what each gave, by name. The input schema is that of each."""

    joins: ClassVar[bool] = True
    def fit_input(self, value: Any) -> Any:
        """Each predecessor's output as the input schema asks."""
        return {name: fit_plain(given, self.input_schema) for name, given in value.items()}

    @property
    def starts_nodes(self) -> bool:
        """No."""
        return False

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[Any, None]:
        yield node_input
