"""The contract of a store whose sessions several processes use: it knows which of them runs a session."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, TypeGuard, runtime_checkable

from newel_kernel import Session


class LeasingStore(Protocol):
    """A session store with leases. A lease is taken for a while by the store's clock, and each has a higher epoch.

    Appends through the view that holds the lease prolong it, and go behind whatever others have appended meanwhile.
    Another view of the session holds nothing: it may append, and ends nobody's lease.
    """

    def holder(self, session: Session) -> str | None:
        """Who else had the lease when this view was opened."""

    def held_for(self, session: Session) -> float:
        """For how many seconds it was taken then, unless it is prolonged."""

    def hold(self, session: Session, seconds: float) -> None:
        """Take the lease with the next append through this view (SessionBusyError), and prolong it until `let_go`."""

    async def take(self, session: Session) -> None:
        """Take now what `hold` has asked for."""

    def confirm(self, session: Session) -> Awaitable[None] | None:
        """What to await before an effect, which raises FencedError where the lease is somebody else's now.

        None where the view holds none, or it is known without asking the store.
        """

    def let_go(self, session: Session) -> None:
        """Give the lease back, without waiting for the store; nothing where none was taken."""


@runtime_checkable
class KnowsLapsed(Protocol):
    """A leasing store that also knows who let a lease run out, and may be stopped and go on."""

    def lapsed_holder(self, session: Session) -> str | None:
        """Whose lease had run out, without being given back, when `hold` asked for it."""


_METHODS = ("holder", "held_for", "hold", "take", "confirm", "let_go")


class _Kinds(dict[type, bool]):
    """Whether stores of a class have leases, found out once: each tool call asks, which a lookup makes cheap."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = leases = all(callable(getattr(kind, name, None)) for name in _METHODS)
        return leases


LEASES = _Kinds()


def is_leasing(store: object) -> TypeGuard[LeasingStore]:
    """Whether a store has leases. Asking a protocol would cost more than the rest of a claim."""
    return LEASES[type(store)]
