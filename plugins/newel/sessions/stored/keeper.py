"""Keeper: the threads that keep the leases of a service, whatever its event loops, writers and other sessions do."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Protocol

from newel.connections.forks import watch_forks
from newel.sessions.stored import clockwork
from newel.sessions.stored.leases import Lease, Leases
from newel.sessions.stored.writes import Renewed
from newel_kernel import SessionError

_log = logging.getLogger(__name__)
#: The thread ends after so many seconds without a lease; the next one starts it again.
_IDLE_SECONDS = 30.0
#: After a failure it tries again so often within the seconds of the shortest lease.
_ATTEMPTS = 20
_LONGEST_WAIT = 5.0


class Renewal(Protocol):
    """How a database renews leases, apart from everything else that it does. Only the keeper calls it."""

    def renew(self, leases: Sequence[Lease], seconds: float) -> Renewed:
        """Renew all that can be renewed, in `seconds` at most; SessionError if the database cannot be reached."""

    def close(self) -> None:
        """Close the connection, in the keeper's thread; the next renewal opens another one."""

    def rest(self) -> None:
        """Give up soon what waits for the database, in whichever thread: the process is about to fork."""

    def after_fork_in_parent(self) -> None:
        """Continue."""

    def after_fork_in_child(self) -> None:
        """Leave the parent's connection alone."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """An attempt to renew leases."""

    leases: Sequence[Lease]
    #: When it should be over, so that another one can follow, and how long after it that one begins.
    end: float
    pause: float

    @classmethod
    def of(cls, leases: Sequence[Lease], now: float, pause: float) -> _Attempt:
        """An attempt that begins now, and takes half of the time until the first of them is over."""
        remaining = min(lease.over_at for lease in leases) - now
        return cls(leases, now + max(remaining / 2, pause), pause)

    def over_at(self, lease: Lease) -> float:
        """When a lease counts as lost during this attempt; one that was late before has a last chance."""
        return max(lease.over_at, self.end) if lease in self.leases else lease.over_at


class Keeper:
    """Renews the lasting leases of a service by deadline, and tells a run whose lease could not be renewed in time.

    One thread looks at the deadlines and never asks the database; another one does, since an answer may come late.
    """

    def __init__(self, leases: Leases, renewal: Renewal) -> None:
        self._leases = leases
        self._renewal = renewal
        self._thread: threading.Thread | None
        self._reset()
        leases.on_taken = self.watch
        watch_forks(self)

    def _reset(self) -> None:
        #: Held while leases are renewed, and while the process forks: no connection may be in use then.
        self._working = clockwork.RLock()
        self._wake = clockwork.Flag()
        self._wakes_at = 0.0
        self._starting = clockwork.RLock()
        self._thread = None
        #: The thread that asks the database, what it has to do, what it is doing, and when it may try again.
        self._renewer: threading.Thread | None = None
        self._attempts: SimpleQueue[_Attempt | None] | None = None
        self._attempt: _Attempt | None = None
        self._again_at = 0.0
        self._closed = False

    def watch(self, lease: Lease) -> None:
        """See to it that the lease, which was just taken, is renewed in time. Quick: most runs end long before."""
        if self._thread is None:
            self._start()
        elif lease.since + lease.seconds / 3 < self._wakes_at:  # long ago, if the store was slow to grant it
            self._wake.set()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self._closed:
                self._wakes_at = 0.0
                # A daemon, because the interpreter waits for other threads before any exit handler could end them.
                self._thread = clockwork.Thread(target=self._run, name="newel-leases", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        idle_since = clockwork.elapsed()
        while not self._closed:
            leases = self._leases.lasting()
            now = clockwork.elapsed()
            if leases:
                idle_since = now
            elif now - idle_since > _IDLE_SECONDS and self._ends():
                return
            wait = self._look_after(leases, now)
            self._wakes_at = clockwork.elapsed() + wait
            self._wake.wait(wait)
            self._wake.clear()
        self._end_renewer()

    def _ends(self) -> bool:
        """End the thread, unless a lease has come."""
        with self._starting:
            if self._leases.lasting():
                return False
            self._thread = None
            self._end_renewer()
        return True

    def _look_after(self, leases: Sequence[Lease], now: float) -> float:
        """Have what is due renewed, and report what is lost; return how long to wait for the next lease."""
        shortest = min((lease.seconds for lease in leases), default=_LONGEST_WAIT)
        pause = max(shortest, 0.01) / _ATTEMPTS
        due = [lease for lease in leases if lease.is_due(now)]
        if due and self._attempt is None and now >= self._again_at:
            self._begin(_Attempt.of(due, now, pause))
        if (attempt := self._attempt) is not None:
            for lease in leases:
                if now >= attempt.over_at(lease):
                    self._leases.lose(lease)
        deadlines = [
            attempt.over_at(lease) if attempt is not None else lease.since + lease.seconds / 3
            for lease in leases
            if not lease.lost
        ]
        return min(max(min(deadlines, default=math.inf) - now, pause), _LONGEST_WAIT)

    def _begin(self, attempt: _Attempt) -> None:
        """Hand an attempt to the thread that asks the database, which may be held up there."""
        self._attempt = attempt
        if self._attempts is None:
            self._attempts, previous = clockwork.Queue(), self._renewer
            work = partial(self._renew_all, self._attempts, previous)
            self._renewer = clockwork.Thread(target=work, name="newel-renewals", daemon=True)
            self._renewer.start()
        self._attempts.put(attempt)

    def _end_renewer(self) -> None:
        attempts, self._attempts = self._attempts, None
        if attempts is not None:
            attempts.put(None)

    def _renew_all(self, attempts: SimpleQueue[_Attempt | None], previous: threading.Thread | None) -> None:
        if previous is not None:
            previous.join()
        while (attempt := attempts.get()) is not None:
            with self._working:
                is_done = self._renew(attempt)
            now = clockwork.elapsed()
            for lease in attempt.leases:
                if now >= lease.over_at:
                    self._leases.lose(lease)
            self._again_at = now if is_done else now + attempt.pause
            self._attempt = None
            self._wake.set()
        self._renewal.close()

    def _renew(self, attempt: _Attempt) -> bool:
        start = clockwork.elapsed()
        try:
            renewed = self._renewal.renew(attempt.leases, max(attempt.end - start, attempt.pause / 2))
        except SessionError as error:
            _log.debug("leases could not be renewed: %s", error)
            return False
        except Exception:  # noqa: BLE001 - the thread must go on: a lease that is not renewed is reported in time
            _log.exception("leases could not be renewed")
            return False
        for lease in renewed.held:
            lease.renewed(start)
        for lease in renewed.gone:
            self._leases.lose(lease)
        return len(renewed.held) == len(attempt.leases)

    def close(self) -> None:
        """End the threads, and close their connection."""
        with self._starting:
            self._closed, thread, self._thread = True, self._thread, None
        self._wake.set()
        current = clockwork.current_thread()
        if thread is not None and thread is not current:
            thread.join()
        if self._renewer is not None and self._renewer is not current:
            self._renewer.join()

    def before_fork(self) -> None:
        """No connection may be in use during a fork. The thread itself goes on in the parent, and tries again."""
        self._renewal.rest()
        self._working.acquire()

    def after_fork_in_parent(self) -> None:
        """Continue in the parent process, which the fork does not change."""
        self._renewal.after_fork_in_parent()
        self._working.release()

    def after_fork_in_child(self) -> None:
        """Begin again, without the parent's leases and its thread."""
        self._leases.forget()
        self._renewal.after_fork_in_child()
        self._reset()
