"""The contract of a ledger, which keeps the accounts of budgets, and the one rule by which it decides.

A call is held on all its accounts before it is made, at the most that it may cost, and settled at what it did cost.

- It is refused only if an account has nothing left. Whether the rest suffices is known after the call.
- It begins if what is left is enough for it and for all calls under way, or if no other call is under way; else it
  waits for one of them to end. So an account is overdrawn by one call at most.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from newel.contexts.limits import Unit


class Claim(NamedTuple):
    """What a call may take from one account, in the store's units."""

    account: str
    unit: Unit
    #: The limit; None: it is only counted.
    limit: int | None
    #: The most that the call may cost.
    amount: int


@dataclass(frozen=True, slots=True)
class Account:
    """What an account shows."""

    id: str
    unit: Unit
    spent: int
    #: What calls under way may cost at most.
    held: int
    #: By how much its limit was raised.
    raised: int
    #: The limit that the last call had, before it was raised; None: none.
    limit: int | None
    #: When something was last spent, or the limit was raised, in seconds since the epoch.
    used: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a call; if it is refused or must wait, which claim says so, and what its account shows."""

    state: Literal["held", "waits", "refused"]
    claim: Claim | None = None
    spent: int = 0
    raised: int = 0


HELD = Verdict("held")


class Ledger(Protocol):
    """Keeps accounts. A hold that its process does not renew in time counts as spent; a late settlement corrects it."""

    async def reserve(self, hold: str, claims: Sequence[Claim], seconds: float) -> Verdict:
        """Hold a call for so many seconds on all accounts of `claims`, or on none. The same hold can be asked again."""

    async def renew(self, hold: str, claims: Sequence[Claim], seconds: float) -> None:
        """Hold it for so many seconds from now on."""

    async def settle(self, hold: str, claims: Sequence[Claim], used: Mapping[Unit, int]) -> None:
        """End a hold: the call has cost this, nothing of a unit that is not named. A hold that is not there is left."""

    async def raise_limit(self, account: str, unit: Unit, amount: int, *, once: str = "") -> None:
        """Let an account have so much more than its limit, in addition to what it was raised by before.

        With `once`, an id, it does so the first time only.
        """

    async def reset(self, account: str) -> None:
        """Let an account begin again with nothing spent, and nothing raised."""

    async def remove(self, account: Account) -> bool:
        """Remove an account that is still as it was read, and on which no call is under way; say whether it was."""

    async def accounts(self, ids: Collection[str] | None = None) -> list[Account]:
        """All accounts, or those with these ids; by id."""


def decide(claim: Claim, *, spent: int, raised: int, held: int) -> Literal["held", "waits", "refused"]:
    """What an account says to a claim; `held` is what calls under way may cost."""
    if claim.limit is None or not claim.amount:
        return "held"
    left = claim.limit + raised - spent
    if left <= 0:
        return "refused"
    return "held" if not held or held + claim.amount <= left else "waits"


def in_order(claims: Sequence[Claim]) -> list[Claim]:
    """One claim for each account, with the lowest limit, in the order in which all calls lock accounts."""
    merged: dict[tuple[str, Unit], Claim] = {}
    for claim in claims:
        key = claim.account, claim.unit
        known = merged.get(key)
        if known is None or known.limit is None or (claim.limit is not None and claim.limit < known.limit):
            merged[key] = claim
    return [merged[key] for key in sorted(merged)]
