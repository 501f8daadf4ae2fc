"""MemoryLedger: the accounts of sessions in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from newel.budgets.ledger import HELD, Account, Claim, Verdict, decide, in_order
from newel.contexts.limits import Unit, accounts_of_session
from newel.sessions.in_memory_session_service import InMemorySessionService
from newel.sessions.stored import clockwork
from newel_kernel import BaseSessionService, seam

_Key = tuple[str, Unit]


@dataclass(slots=True)
class _Hold:
    """A call under way."""

    amount: int
    lapses: float
    #: Whether it has lapsed, so that its amount counts as spent.
    counted: bool = False


@dataclass(slots=True)
class _Row:
    """One account, in one unit."""

    spent: int = 0
    raised: int = 0
    limit: int | None = None
    #: When something was last spent, or the limit was raised.
    used: float = field(default_factory=lambda: seam.clock())
    holds: dict[str, _Hold] = field(default_factory=dict)
    #: The ids under which it was raised.
    raises: set[str] = field(default_factory=set)

    def held(self) -> int:
        """What calls under way may cost; those that have lapsed are counted as spent first."""
        now = clockwork.elapsed()
        for hold in self.holds.values():
            if not hold.counted and hold.lapses <= now:
                hold.counted = True
                self.spend(hold.amount)
        return sum(hold.amount for hold in self.holds.values() if not hold.counted)

    def spend(self, amount: int) -> None:
        self.spent += amount
        self.used = seam.clock()

    def is_under_way(self) -> bool:
        """Whether a call is held, also one that costs nothing."""
        self.held()
        return any(not hold.counted for hold in self.holds.values())

    def clear(self) -> None:
        """Begin again; calls under way stay."""
        self.spent = self.raised = 0
        self.holds = {name: hold for name, hold in self.holds.items() if not hold.counted}


class MemoryLedger:
    """See `Ledger`. Threads may share it."""

    def __init__(self) -> None:
        self._rows: dict[_Key, _Row] = {}
        self._lock = threading.Lock()

    async def reserve(self, hold: str, claims: Sequence[Claim], seconds: float) -> Verdict:
        """See `Ledger`."""
        with self._lock:
            lapses = clockwork.elapsed() + seconds
            held = []
            for claim in in_order(claims):
                row = self._rows.setdefault((claim.account, claim.unit), _Row())
                row.limit = claim.limit if claim.limit is not None else row.limit
                if hold in row.holds:
                    return HELD
                under_way = row.held()
                state = decide(claim, spent=row.spent, raised=row.raised, held=under_way)
                if state != "held":
                    return Verdict(state, claim, row.spent, row.raised)
                held.append((row, claim.amount))
            for row, amount in held:
                row.holds[hold] = _Hold(amount, lapses)
            return HELD

    async def renew(self, hold: str, claims: Sequence[Claim], seconds: float) -> None:
        """See `Ledger`."""
        with self._lock:
            for claim in in_order(claims):
                if (row := self._rows.get((claim.account, claim.unit))) is not None and hold in row.holds:
                    row.holds[hold].lapses = clockwork.elapsed() + seconds

    async def settle(self, hold: str, claims: Sequence[Claim], used: Mapping[Unit, int]) -> None:
        """See `Ledger`."""
        with self._lock:
            for claim in in_order(claims):
                row = self._rows.get((claim.account, claim.unit))
                if row is None or (ended := row.holds.pop(hold, None)) is None:
                    continue
                amount = used.get(claim.unit, 0)
                row.spend(amount - (ended.amount if ended.counted else 0))

    async def raise_limit(self, account: str, unit: Unit, amount: int, *, once: str = "") -> None:
        """See `Ledger`."""
        with self._lock:
            row = self._rows.setdefault((account, unit), _Row())
            if once not in row.raises:
                row.raised += amount
                row.used = seam.clock()
                row.raises |= {once} - {""}

    async def reset(self, account: str) -> None:
        """See `Ledger`."""
        with self._lock:
            for row in [row for key, row in self._rows.items() if key[0] == account]:
                row.clear()

    async def remove(self, account: Account) -> bool:
        """See `Ledger`."""
        with self._lock:
            key = account.id, account.unit
            row = self._rows.get(key)
            if row is None or row.is_under_way() or (row.spent, row.raised) != (account.spent, account.raised):
                return False
            del self._rows[key]
            return True

    def forget(self, app_name: str, user_id: str, session_id: str) -> None:
        """Remove the accounts of a session; one with a call under way begins again with what that costs."""
        ids = accounts_of_session(app_name, user_id, session_id)
        with self._lock:
            for key in [
                key for key in self._rows if any(key[0] == id_ or first < key[0] < end for id_, first, end in ids)
            ]:
                row = self._rows[key]
                if row.is_under_way():
                    row.clear()
                else:
                    del self._rows[key]

    async def accounts(self, ids: Collection[str] | None = None) -> list[Account]:
        """See `Ledger`."""
        with self._lock:
            shown = sorted(one for one in self._rows.items() if ids is None or one[0][0] in ids)
            return [
                Account(*key, held=row.held(), spent=row.spent, raised=row.raised, limit=row.limit, used=int(row.used))
                for key, row in shown
            ]


_ledgers: WeakKeyDictionary[BaseSessionService, MemoryLedger] = WeakKeyDictionary()
_making = threading.Lock()


def of_memory(service: BaseSessionService) -> MemoryLedger | None:
    """The ledger of sessions in memory, which lasts as long as they do; None: they are elsewhere."""
    if not isinstance(service, InMemorySessionService):
        return None
    if (ledger := _ledgers.get(service)) is None:
        with _making:
            ledger = _ledgers.setdefault(service, MemoryLedger())
            service.forgetting["budgets"] = ledger.forget
    return ledger
