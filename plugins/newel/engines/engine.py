"""BaseEngine: says where and when an invocation runs, and never what happens in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Protocol

from newel_kernel import NewelError

if TYPE_CHECKING:
    from newel.engines.places import Place
    from newel.engines.spec import InvocationSpec
    from newel.engines.stepping import Stepping


class RunState(StrEnum):
    """Where a run is."""

    QUEUED = "queued"
    RUNNING = "running"
    #: It waits for an answer, and no worker has it.
    PAUSED = "paused"
    ENDED = "ended"
    FAILED = "failed"
    CANCELLED = "cancelled"
    #: No worker that fits came in time.
    MISFIT = "misfit"


#: A run in one of these states is over, unless it is retried.
OVER = frozenset({RunState.ENDED, RunState.FAILED, RunState.CANCELLED, RunState.MISFIT})
#: The `Outcome.error` of a run whose time was over before it had ended: it has failed.
TIME_IS_OVER = "TimeoutError"
#: What people are told of errors whose class does not say enough.
_REASONS = {"SessionNotFoundError": "its session does not exist any more"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a worker has left a run: ids and numbers only, since the session's log has the rest."""

    #: PAUSED, ENDED, FAILED or CANCELLED.
    state: RunState
    #: How many events the session had then.
    events: int = 0
    #: The ids of the open calls that the run waits for.
    waits_for: tuple[str, ...] = ()
    #: The class of the error that it failed with.
    error: str = ""

    @property
    def reason(self) -> str:
        """Why it failed, for people; empty if it did not."""
        known = _REASONS.get(self.error)
        return f"{known} ({self.error})" if known else self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What an engine knows about a run. Times are seconds since 1970 by the engine's clock."""

    spec: InvocationSpec
    state: RunState
    #: How often a worker has begun it.
    attempts: int = 0
    #: Who has it, or had it last.
    worker: str = ""
    #: Why it waits, or how it ended, for people.
    reason: str = ""
    submitted: float = 0.0
    #: None: not begun, or not ended.
    started: float | None = None
    ended: float | None = None
    #: How the worker has left it.
    outcome: Outcome | None = None


class PostponedError(NewelError):
    """A worker cannot run this now: the engine hands it out again after `seconds`, and counts no attempt."""

    def __init__(self, reason: str, seconds: float = 1.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.seconds = seconds


class SpecRefusedError(NewelError):
    """A spec that no engine takes: the text names the field."""


class EngineUnavailableError(NewelError):
    """The engine did not answer in time. What was asked for may have happened; it may be asked for again."""

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        super().__init__(message)
        #: After how many seconds it is worth trying again.
        self.retry_after = retry_after


class RunNotFoundError(NewelError):
    """The engine has no such run."""


class Work(Protocol):
    """Runs or resumes one invocation by its session's log, however often it is called.

    What is stored is not done again. It raises PostponedError, and what makes an attempt worth repeating, such as
    StoreUnavailableError; a failed agent is an Outcome.
    """

    def __call__(self, spec: InvocationSpec, stepping: Stepping | None = None, /) -> Awaitable[Outcome]:
        """How the run has ended or paused. To cancel its task cancels the run: the outcome is CANCELLED then.

        Each open call has got its result event by that time. If the store was away for that, StoreUnavailableError is
        raised, and the engine calls `close`. With `stepping` the run waits there before its calls.
        """

    def close(self, spec: InvocationSpec, /) -> Awaitable[Outcome]:
        """End a run that no worker has, and do not go on with it: each open call gets its result event.

        Raises StoreUnavailableError: the engine calls it again, and the run is not over until it has returned.
        """

    def release(self, key: str, /) -> None:
        """End a run here for another worker to resume: its call raises PostponedError, its open calls stay open."""


class EngineWorker(ABC):
    """Takes runs from queues, one `Work` each, from `start` to `drain`."""

    @property
    @abstractmethod
    def running(self) -> Sequence[str]:
        """The keys of the runs that it has now."""

    @abstractmethod
    async def start(self) -> None:
        """Begin to take runs; returns once it does."""

    @abstractmethod
    async def drain(self, seconds: float) -> None:
        """Take no more; wait at most `seconds` for those under way, then `release` them for other workers."""


class BaseEngine(ABC):
    """Dispatches invocations to workers, and finds them again after a crash. The log stays the only journal.

    A run is known by its spec's `key`. Methods of a run that the engine has not raise RunNotFoundError.
    """

    #: Whether its runs are lost with this process, so that whoever submits here has to work here, too.
    in_process: ClassVar[bool] = False

    @abstractmethod
    async def submit(self, spec: InvocationSpec) -> RunRecord:
        """Have the invocation run; a second submission of the same is the same run.

        Raises SpecRefusedError if the spec may not be submitted (see `check_spec`), or if a run with that key has
        another user, session or message (see `check_same`). What is stored is read whatever it is: no rule of
        `check_spec` is one for reading.
        """

    @abstractmethod
    async def signal(self, key: str, *, seconds: float = 0.0) -> None:
        """Say that an answer for a paused run is stored, or may be in `seconds`: a worker resumes the run then.

        A run that is under way is resumed if it pauses, and one without an answer pauses again. So who answers says so
        twice, ahead and afterwards: an answer that is stored acts, though whoever stored it did not live to say so.
        """

    @abstractmethod
    async def cancel(self, key: str) -> None:
        """End a run, whether it is queued, running or paused. An ended one does not change."""

    @abstractmethod
    async def retry(self, key: str) -> None:
        """Run an ended run again, from its log: one that failed, was cancelled, or had no worker that fits."""

    @abstractmethod
    async def record(self, key: str) -> RunRecord | None:
        """What is known about a run; None if there is none."""

    @abstractmethod
    async def records(
        self,
        *,
        app_name: str | None = None,
        state: RunState | None = None,
        session: Place | None = None,
        most: int = 100,
    ) -> Sequence[RunRecord]:
        """The runs, the newest first: of an app, in a state, of one session."""

    @abstractmethod
    def worker(self, work: Work, queues: Sequence[str], *, concurrency: int = 10, name: str = "") -> EngineWorker:
        """A worker of this process for `queues` that has at most `concurrency` runs at a time."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of connections."""
