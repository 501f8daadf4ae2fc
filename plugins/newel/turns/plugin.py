"""The plugin of turns: transfers, tasks and graphs keep the conversation (S0 §1.4), and invocations resume (S0 §10)."""

from __future__ import annotations

from newel.turns.interruption import finish_calls
from newel.turns.pauses import waits
from newel.turns.resumption import answering, enter, leave
from newel.turns.routing import messages
from newel.turns.transfers import transfer
from newel_kernel import Epilogue, TurnPolicy, hookimpl


@hookimpl
def register_turn_policies() -> list[TurnPolicy]:
    """The one policy."""
    return [
        TurnPolicy(
            enter=enter, messages=messages, agent=answering, waits=waits, interrupted=finish_calls,
            transfer=transfer,
        )
    ]  # fmt: skip


@hookimpl
def register_epilogues() -> list[Epilogue]:
    """The epilogue `turns`."""
    return [Epilogue(name="turns", run=leave)]
