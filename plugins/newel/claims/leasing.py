"""The contract of a store whose sessions several processes use: it knows which of them runs a session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeGuard, runtime_checkable

from newel_kernel import Session


class LeasingStore(Protocol):
    """A session store with leases. A lease lasts for a while by the store's clock, and each new one has a higher epoch.

    Appends through the view that holds the lease prolong it, and go after whatever others have appended meanwhile.
    Another view of the session holds no lease: it may append, and ends no lease.
    """

    def holder(self, session: Session) -> str | None:
        """The other owner of the lease when this view was opened, or None."""

    def seconds_left(self, session: Session) -> float:
        """How many seconds that lease had left then, unless it is prolonged."""

    def hold(self, session: Session, seconds: float) -> None:
        """Take the lease with the next append (or SessionBusyError), and prolong it until `release_soon`."""

    async def take(self, session: Session) -> None:
        """Take the lease that `hold` asked for now."""

    def confirm(self, session: Session) -> Awaitable[None] | None:
        """An awaitable for the moment before an effect; it raises FencedError if another owner has the lease by now.

        None if the view holds no lease, or if the answer is known without asking the store.
        """

    def release_soon(self, session: Session) -> None:
        """Give the lease back, without waiting for the store; do nothing if none was taken."""


@runtime_checkable
class KnowsLapsed(Protocol):
    """A leasing store that also knows an owner whose lease ran out; its process may be stopped, and continue later."""

    def lapsed_holder(self, session: Session) -> str | None:
        """The owner whose lease had run out, without being given back, when `hold` asked for it."""


class TellsLoss(Protocol):
    """A leasing store that tells when a lease is lost, so that the run that holds it ends at once."""

    def when_lost(self, session: Session, call: Callable[[], object]) -> None:
        """Call `call`, in any thread, once the lease that `hold` asked for is lost, or is about to run out."""


_METHODS = ("holder", "seconds_left", "hold", "take", "confirm", "release_soon")


class _Kinds(dict[type, bool]):
    """Whether stores of a class have leases; cached, as each tool call asks."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = leases = all(callable(getattr(kind, name, None)) for name in _METHODS)
        return leases


LEASES = _Kinds()


def is_leasing(store: object) -> TypeGuard[LeasingStore]:
    """Whether a store has leases. A check of the protocol would cost more than the rest of a claim."""
    return LEASES[type(store)]


def tells_loss(store: object) -> TypeGuard[TellsLoss]:
    """Whether a leasing store tells when a lease is lost."""
    return hasattr(store, "when_lost")
