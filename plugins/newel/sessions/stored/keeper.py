"""Keeper: the thread that renews the leases of a service, whatever its event loops, writers and other sessions do."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
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

    def before_fork(self) -> None:
        """See to it that a child process cannot disturb the connection."""

    def after_fork_in_child(self) -> None:
        """Leave the parent's connection alone."""


class Keeper:
    """Renews the lasting leases of a service by deadline, and tells a run whose lease could not be renewed in time."""

    def __init__(self, leases: Leases, renewal: Renewal) -> None:
        self._leases = leases
        self._renewal = renewal
        self._thread: threading.Thread | None = None
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
        self._closed = False

    def watch(self, lease: Lease) -> None:
        """See to it that the lease, which was just taken, is renewed in time. Quick: most runs end long before."""
        if self._thread is None:
            self._start()
        elif clockwork.elapsed() + lease.seconds / 3 < self._wakes_at:
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
        self._renewal.close()

    def _ends(self) -> bool:
        """End the thread, unless a lease has come."""
        with self._starting:
            if self._leases.lasting():
                return False
            self._thread = None
        self._renewal.close()
        return True

    def _look_after(self, leases: Sequence[Lease], now: float) -> float:
        """Renew what is due, and report what is lost; return how long to wait for the next one."""
        due = [lease for lease in leases if lease.is_due(now)]
        if due:
            with self._working:
                self._renew(due)
        now = clockwork.elapsed()
        for lease in due:
            if now >= lease.over_at:
                self._leases.lose(lease)
        pending = [lease.since + lease.seconds / 3 - now for lease in leases if not lease.lost]
        shortest = min((lease.seconds for lease in leases), default=_LONGEST_WAIT)
        return min(max(min(pending, default=_LONGEST_WAIT), max(shortest, 0.01) / _ATTEMPTS), _LONGEST_WAIT)

    def _renew(self, due: Sequence[Lease]) -> None:
        start = clockwork.elapsed()
        # Half of the time until the first of them is over, so that another attempt can follow.
        patience = max(min(lease.over_at for lease in due) - start, 0.1) / 2
        try:
            renewed = self._renewal.renew(due, patience)
        except SessionError as error:
            _log.debug("leases could not be renewed: %s", error)
        except Exception:  # noqa: BLE001 - the thread must go on: a lease that is not renewed is reported in time
            _log.exception("leases could not be renewed")
        else:
            for lease in renewed.held:
                lease.renewed(start)
            for lease in renewed.gone:
                self._leases.lose(lease)

    def close(self) -> None:
        """End the thread, and close its connection."""
        with self._starting:
            self._closed, thread, self._thread = True, self._thread, None
        self._wake.set()
        if thread is not None and thread is not clockwork.current_thread():
            thread.join()

    def before_fork(self) -> None:
        """No connection may cross a fork. The thread itself goes on in the parent."""
        self._working.acquire()
        self._renewal.before_fork()

    def after_fork_in_parent(self) -> None:
        """Continue in the parent process, which the fork does not change."""
        self._working.release()

    def after_fork_in_child(self) -> None:
        """Begin again, without the parent's leases and its thread."""
        self._leases.forget()
        self._renewal.after_fork_in_child()
        self._reset()
