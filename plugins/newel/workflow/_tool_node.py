"""ToolNode: a tool as a node."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Unpack

from newel.workflow._base_node import BaseNode, NodeFields
from newel.workflow._retry_config import RetryConfig
from newel.workflow.context import NodeContext
from newel_kernel import BaseTool, Json, seam


class ToolNode(BaseNode):
    """Runs `tool` on the input, a dict of its arguments (or None, for none); its result is the output."""

    #: The tool that it runs.
    tool: BaseTool

    def __init__(
        self,
        tool: BaseTool,
        *,
        name: str | None = None,
        retry_config: RetryConfig | None = None,
        **options: Unpack[NodeFields],
    ) -> None:
        fields: Json = {"name": name or tool.name, "retry_config": retry_config, **options}
        fields.setdefault("description", tool.description or "")
        super().__init__(**fields, **{"tool": tool})

    @property
    def __newel_starts_nodes__(self) -> bool:
        """False: its code never runs other nodes."""
        return False

    async def _run_impl(self, *, ctx: NodeContext, node_input: Any) -> AsyncGenerator[object, None]:
        if node_input is not None and not isinstance(node_input, Mapping):
            raise TypeError(
                f"node {self.name!r} runs a tool, so its input must be a dict of the tool's arguments or None, "
                f"not {type(node_input).__name__}"
            )
        ctx.function_call_id = ctx.function_call_id or seam.new_id()
        result = await self.tool.run_async(args=dict(node_input or {}), tool_context=ctx)
        if result is not None:
            yield result
