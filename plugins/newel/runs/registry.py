"""The background runs of a runner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence

from newel.runs.run import Run
from newel_kernel import ConfigurationError, Event, NewelError


class RunRefusedError(NewelError):
    """No further run may begin here. The text says why; `retry_after` is in how many seconds one may again."""

    def __init__(self, text: str, retry_after: int, *, is_full: bool) -> None:
        super().__init__(text)
        self.retry_after = retry_after
        #: Whether there are too many runs; else their process is about to end.
        self.is_full = is_full


class Runs:
    """The running runs of a runner, the oldest first, to be found by id and by session. An ended run leaves."""

    def __init__(self) -> None:
        self._running: dict[str, Run] = {}
        #: Called before a run begins; raises RunRefusedError if none may.
        self.admit: Callable[[], object] = _welcome

    def __len__(self) -> int:
        return len(self._running)

    def __iter__(self) -> Iterator[Run]:
        return iter([*self._running.values()])

    def get(self, run_id: str) -> Run | None:
        """The running run of that id."""
        return self._running.get(run_id)

    def of_session(self, user_id: str, session_id: str) -> list[Run]:
        """The running runs of a session; more than one if some wait for their turn."""
        return [run for run in self if (run.user_id, run.session_id) == (user_id, session_id)]

    def start(
        self,
        events: AsyncGenerator[Event, None],
        user_id: str,
        session_id: str,
        stored: Callable[[], Awaitable[Sequence[Event]]],
        invocation_id: str | None = None,
    ) -> Run:
        """Run `events` in a task of the running loop. Raises what `admit` raises."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise ConfigurationError("start() needs a running event loop: call it in a coroutine") from None
        self.admit()
        run = Run(events, user_id, session_id, stored, invocation_id)
        self._running[run.id] = run
        run.when_ended(lambda: self._running.pop(run.id, None))
        return run

    async def close(self, seconds: float) -> None:
        """Cancel the running runs, and wait at most `seconds` for their ends."""
        if running := [*self]:
            for run in running:
                run.cancel()
            await asyncio.gather(*(run.wait(seconds) for run in running))


def _welcome() -> None:
    """Let every run begin."""
