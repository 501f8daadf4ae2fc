"""TypedRuns: runs whose caller gets a value of the agent's output type, not events."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from newel.contexts.generics import DepsIn, OfAgent, Out
from newel_kernel import RunConfig as KernelRunConfig
from newel_types import deferred

_typed = deferred("newel.runners.outcome", "typed")


class TypedRuns(OfAgent[DepsIn, Out]):
    """What a `Runner` does for callers that want a value."""

    async def run_typed(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: Any,
        state_delta: dict[str, Any] | None = None,
        run_config: KernelRunConfig | None = None,
        deps: DepsIn | None = None,
    ) -> Out:
        """Run one invocation; return the final answer: a value of the agent's `output_schema`, or its text.

        Raises NoAnswerError if there is none (the agent may wait: see `questions`), and OutputSchemaError if it does
        not fit.
        """
        where: dict[str, Any] = {"user_id": user_id, "session_id": session_id, "new_message": new_message}
        value: Out
        async for value in _typed()(self, False, **where, state_delta=state_delta, run_config=run_config, deps=deps):
            return value
        raise AssertionError  # it gives a value, or raises

    def stream_typed(
        self,
        *,
        user_id: str,
        session_id: str,
        new_message: Any,
        state_delta: dict[str, Any] | None = None,
        run_config: KernelRunConfig | None = None,
        deps: DepsIn | None = None,
    ) -> AsyncGenerator[Out, None]:
        """`run_typed` while the model writes: each value that the text so far makes, the final answer last.

        A value comes once the text holds what the schema requires, and its texts may end early: give fields defaults
        to see it sooner.
        """
        where: dict[str, Any] = {"user_id": user_id, "session_id": session_id, "new_message": new_message}
        values: AsyncGenerator[Out, None] = _typed()(
            self, True, **where, state_delta=state_delta, run_config=run_config, deps=deps
        )
        return values
