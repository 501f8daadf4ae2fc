"""Watch: the thread that says that this process is there, and sees to runs that no worker has."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, ParamSpec

from newel.sessions.stored import clockwork
from newel_dbos import orders, shifts
from newel_dbos.book import WORKFLOW, Page, StatementRefusedError
from newel_kernel import NewelError

if TYPE_CHECKING:
    from newel_dbos.hub import Hub
    from newel_dbos.shifts import Chores
    from newel_dbos.worker import Held

P = ParamSpec("P")
_LOG = logging.getLogger(__name__)
#: Seconds between two looks, while this process has runs, and while it has none.
_BUSY, _IDLE = 0.5, 1.0
#: How many parts of what is to be done for many runs are done before this process says again that it is there.
_PARTS = 10


class Watch:
    """Looks at the tables once or twice a second, in a thread: a loop that is busy must not lose its runs for that."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._seen = self._beaten = clockwork.elapsed()
        #: Whether runs may be this process's that none of its workers has, as after a loss of the database.
        self.in_doubt = False
        self._orphans: set[tuple[str, int]] = set()
        #: What DBOS had claimed for this process at the last beat, without handing it over.
        self._strays: set[tuple[str, int]] = set()

    @property
    def cut_off(self) -> bool:
        """Whether others take this process for dead by now."""
        return clockwork.elapsed() - self._beaten > self._hub.access.heartbeat

    def start(self) -> None:
        """Begin to look; again, it changes nothing."""
        if self._thread is None:
            self._thread = clockwork.Thread(target=self._run, name="newel-dbos-watch", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Look no more, and have others take what this process has."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        try:
            self._hub.book.change(shifts.leave, self._hub.executor)
        except NewelError as error:  # they find out by the silence
            _LOG.warning("the engine cannot hand its runs to others at once: %s", type(error).__name__)

    def beat(self) -> None:
        """Say that this process is there."""
        now = clockwork.elapsed()
        queues = {queue for worker in self._hub.workers for queue in worker.queues}
        self._hub.book.change(shifts.beat, self._hub.executor, queues)
        self._beaten = now

    def _run(self) -> None:
        while not self._stopped.wait(_BUSY if self._hub.taken else _IDLE):
            try:
                self._look()
            except Exception as error:  # noqa: BLE001 - the thread goes on, whatever the database does
                self._failed("look after its runs", error)

    def _failed(self, what: str, error: Exception) -> None:
        self.in_doubt = True
        detail = f"({error})" if isinstance(error, StatementRefusedError) else ""
        _LOG.warning("the engine cannot %s: %s%s", what, type(error).__name__, detail)
        if self.cut_off:
            self._post(self._abandon)

    def _alone(self, what: str, chore: Callable[P, object], /, *arguments: P.args, **named: P.kwargs) -> None:
        """Do a chore; if it fails, the others are done all the same."""
        try:
            chore(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - one run must not keep the others from what they need
            self._failed(what, error)

    def _post(self, function: object, *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._hub.loop.call_soon_threadsafe(function, *arguments)  # type: ignore[arg-type]

    def _look(self) -> None:
        hub, heartbeat = self._hub, self._hub.access.heartbeat
        self._post(self._answer)
        now = clockwork.elapsed()
        first = False
        held = [one for worker in tuple(hub.workers) for one in worker.held]
        # A loop that hangs may be in a tool that blocks: then its runs are its own, as their sessions' leases are. At
        # another process the tool would block as well, and the run would go from one to the other for ever.
        if now - self._beaten > heartbeat / 3 and (held or now - self._seen < heartbeat):
            self.beat()
            self._alone("end the runs that nobody fits", hub.book.change, orders.give_up)
            self._alone("give back what it did not begin", self._give_back_strays)
            first = hub.book.look(shifts.is_first, hub.executor)
        found, chores = hub.book.look(shifts.look, hub.executor, bool(held) or self.in_doubt)
        if held:
            self._post(self._compare, held, found)
        if self.in_doubt:
            self._let_go({(key, stretch) for key, (stretch, _) in found.items()})
        self._do(chores, first)

    def _do(self, chores: Chores, first: bool) -> None:
        """What is to be done about runs that no worker has."""
        change = self._hub.book.change
        if chores.due:
            self._alone("hand out the runs that are due", change, shifts.hand_out_due)
        if chores.over:
            self._alone("end cancelled and late runs", self._take_over)
        if chores.dead:
            self._alone("take silent workers for dead", change, shifts.bury)
        if chores.dead or chores.left or first:
            self._alone("hand out lost runs", self._all, shifts.recover)
        if first:
            self._alone("remove what ended long ago", self._all, shifts.forget)

    def _all(self, change: Callable[[Page], bool]) -> None:
        """Do something about many runs, a part at a time, and leave the rest to the next time if they are too many."""
        for _ in range(_PARTS):
            if not self._hub.book.change(change):
                return

    def _let_go(self, found: set[tuple[str, int]]) -> None:
        """Hand out again the runs of this process that none of its workers has, if that is so twice."""
        hub = self._hub
        held = {(one.shift.spec.key, one.shift.stretch) for worker in tuple(hub.workers) for one in worker.held}
        orphans = found - held - hub.taken
        for key, stretch in orphans & self._orphans:
            self._alone("let go of a run", hub.book.change, shifts.let_go, key, stretch, hub.executor)
        self._orphans = orphans
        self.in_doubt = bool(orphans)

    def _answer(self) -> None:
        self._seen = clockwork.elapsed()

    def _compare(self, held: list[Held], found: dict[str, tuple[int, bool]]) -> None:
        for one in held:
            one.compare(found)

    def _abandon(self) -> None:
        for worker in self._hub.workers:
            for one in worker.held:
                one.compare({})

    def _take_over(self) -> None:
        workers = [worker for worker in tuple(self._hub.workers) if worker.open]
        if workers:
            queues = {queue for worker in workers for queue in worker.queues}
            for shift in self._hub.book.change(shifts.take_over, self._hub.executor, workers[0].name, queues):
                self._post(self._hub.end, shift)

    def _give_back_strays(self) -> None:
        """Hand out again what DBOS claimed and did not hand over, as after an answer that got lost."""
        strays = self._claimed() - self._hub.taken
        for key, stretch in strays & self._strays:
            self._alone("give back a run", self._hub.book.change, shifts.give_back, key, stretch, stale=True)
        self._strays = strays

    def _claimed(self) -> set[tuple[str, int]]:
        """What DBOS has claimed for this process, with a workflow that is not over."""
        client, executor = self._hub.book.client, self._hub.executor
        workflows = client.list_workflows(name=WORKFLOW, executor_id=executor, status="PENDING", load_output=False)
        inputs = [workflow.input["args"] for workflow in workflows if workflow.input is not None]
        return {(str(key), int(stretch)) for key, stretch, _ in inputs}
