"""What takes effect when a response arrives: handles, go-away, interruptions, calls that need no result any more."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from newel.live.contract import LiveSession
    from newel.live.kinds import InStep
    from newel_kernel import LlmResponse

_SECONDS = re.compile(r"([0-9.]+)s?")
_log = logging.getLogger(__name__)


def resumption(session: LiveSession) -> InStep:
    """Keeps the latest handle by which the session goes on over another connection."""

    def step(response: LlmResponse) -> None:
        update = response.live_session_resumption_update
        if update is not None and update.new_handle and update.resumable is not False:
            session.handle = update.new_handle

    return step


def go_away(session: LiveSession) -> InStep:
    """Reconnects at the end of the turn, or when the service's time has run out; without a handle it does nothing."""
    leaving = False
    timer: asyncio.TimerHandle | None = None

    def reconnect() -> None:
        nonlocal leaving
        if leaving:
            leaving = False
            if timer is not None:
                timer.cancel()
            session.reconnect()

    def step(response: LlmResponse) -> None:
        nonlocal leaving, timer
        if response.go_away is not None:
            if session.handle is None:
                _log.warning("the service is about to close the live connection, and has given no handle to resume by")
                return
            leaving = True
            timer = asyncio.get_running_loop().call_later(_seconds(response.go_away.time_left), reconnect)
        if leaving and not session.due:
            reconnect()

    return step


def _seconds(text: str | None) -> float:
    """The seconds that are left, less a margin."""
    match = _SECONDS.fullmatch(text or "")
    return max(float(match[1]) - 0.5, 0.0) if match else 0.0


def interruption(session: LiveSession) -> InStep | None:
    """Drops the speech that waits when the user interrupts, if the settings say so."""
    if not session.settings.drop_at_interruption:
        return None

    def step(response: LlmResponse) -> None:
        if response.interrupted:
            session.inbox.drop_audio()

    return step


def revoked(session: LiveSession) -> InStep:
    """Cancels the calls of which the service wants no result any more."""

    def step(response: LlmResponse) -> None:
        if response.tool_call_cancellation is not None:
            session.revoke(response.tool_call_cancellation.ids or ())

    return step
