"""The plugin of turns: transfers, tasks and graphs keep the conversation, and invocations resume.

Specified in docs/reference/behaviour.md#whose-turn-it-is and docs/reference/behaviour.md#pause-and-resume.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping

from pydantic import BaseModel

from newel import turns
from newel.turns.pauses import waits
from newel.turns.resumption import answering, enter, leave
from newel.turns.routing import messages
from newel.turns.steps import Settings
from newel.turns.transfers import transfer
from newel_kernel import BaseTool, Epilogue, Event, InvocationContext, TurnPolicy, hookimpl


def interrupted(ctx: InvocationContext, tools: Mapping[str, BaseTool]) -> Awaitable[Iterable[Event]]:
    """See `interruption.finish_calls`."""
    return turns.finish_calls(ctx, tools)


@hookimpl
def register_settings() -> type[BaseModel]:
    """The class of the plugin's settings."""
    return Settings


@hookimpl
def register_turn_policies() -> list[TurnPolicy]:
    """The policy `turns`."""
    return [
        TurnPolicy(
            enter=enter,
            messages=messages,
            agent=answering,
            waits=waits,
            interrupted=interrupted,
            transfer=transfer,
        )
    ]


@hookimpl
def register_epilogues() -> list[Epilogue]:
    """The epilogue `turns`."""
    return [Epilogue(name="turns", run=leave, on_continuation=True)]
