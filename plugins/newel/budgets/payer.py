"""Payer: on whose account the model calls of an invocation are, with its limits and its ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from newel.budgets.kinds import BudgetStore
from newel.budgets.settings import Settings
from newel.contexts.limits import Limit, Owner
from newel_kernel import ConfigurationError, InvocationContext, Key

if TYPE_CHECKING:
    from newel.budgets.ledger import Ledger
    from newel_kernel import BaseSessionService, Chains, LlmRequest

PLUGIN = "budgets"


@dataclass(frozen=True, slots=True, eq=False)
class Payer:
    """Who pays for calls."""

    owner: Owner
    limits: tuple[Limit, ...]
    ledger: Ledger


_PAYER = Key[Payer]("who pays")
#: In a request: the invocation that makes it.
_CALLER = Key[InvocationContext]("whose request")
#: The composition and the payer of calls that no agent makes, such as for summaries and judges.
_paying: ContextVar[tuple[Chains, Callable[[], Payer]] | None] = ContextVar("newel_paying", default=None)
#: The ledger of all that an evaluation runs; None: that of the sessions.
_shared: ContextVar[Ledger | None] = ContextVar("newel_shared_ledger", default=None)


def note_caller(ctx: InvocationContext, request: LlmRequest) -> None:
    """Note in a request whose it is."""
    request.stash[_CALLER] = ctx


@contextmanager
def paid_by(ctx: InvocationContext) -> Iterator[None]:
    """A block whose model calls are on the account of an invocation, if no agent makes them."""
    token = _paying.set((ctx.composition, partial(payer_for, ctx)))
    try:
        yield
    finally:
        _paying.reset(token)


@contextmanager
def evaluated(chains: Chains, ledger: Ledger, owner: Owner) -> Iterator[None]:
    """A block of an evaluation: the runs within it, and the judges on the account of `owner`, share a ledger."""
    payer = Payer(owner, chains.settings_of(PLUGIN, Settings).limits, ledger)
    shared, token = _shared.set(ledger), _paying.set((chains, lambda: payer))
    try:
        yield
    finally:
        _paying.reset(token)
        _shared.reset(shared)


def paying() -> Chains | None:
    """The composition of calls that no agent makes; None: nobody pays for such."""
    paid = _paying.get()
    return paid[0] if paid is not None else None


def payer_of(request: LlmRequest) -> Payer | None:
    """Who pays for a request; None: it belongs to no invocation, or no limit holds."""
    if (ctx := request.stash.get(_CALLER, None)) is not None:
        payer = payer_for(ctx)
    elif (paid := _paying.get()) is not None:
        payer = paid[1]()
    else:
        return None
    return payer if payer.limits else None


def payer_for(ctx: InvocationContext) -> Payer:
    """Who pays for the calls of an invocation."""
    if (payer := ctx.stash.get(_PAYER, None)) is None:
        payer = ctx.stash[_PAYER] = _made(ctx)
    return payer


def inherit(ctx: InvocationContext, caller: InvocationContext) -> None:
    """Let the calls of an invocation within another one be on that one's account."""
    if _PAYER in caller.stash or _limits_of(caller):  # without limits, its store need not keep budgets
        ctx.stash[_PAYER] = payer_for(caller)


def _made(ctx: InvocationContext) -> Payer:
    owner = Owner(ctx.app_name, ctx.user_id, ctx.session.id, ctx.invocation_id)
    return Payer(owner, _limits_of(ctx), _shared.get() or ledger_of(ctx.composition, ctx.session_service))


def _limits_of(ctx: InvocationContext) -> tuple[Limit, ...]:
    settings = ctx.composition.settings_of(PLUGIN, Settings)
    return (*settings.limits, *(getattr(ctx.run_config, "budgets", None) or ()))


def check_live(ctx: InvocationContext) -> None:
    """Raise a ConfigurationError if a limit holds for a live run, whose cost nobody knows before it is made."""
    if PLUGIN not in ctx.composition.settings:
        return
    if ctx.composition.settings_of(PLUGIN, Settings).live == "refuse" and (limits := _limits_of(ctx)):
        whose = ", ".join(sorted({limit.per for limit in limits}))
        raise ConfigurationError(
            f"budgets cannot count live connections, and limits hold for this one (per {whose}): run it without them, "
            f"or set budgets: {{live: uncounted}} to let live runs spend without limits"
        )


def ledger_of(chains: Chains, service: BaseSessionService) -> Ledger:
    """The ledger of a session store; a ConfigurationError if no plugin keeps budgets for such a store."""
    for store in chains.registry.all(BudgetStore):
        if (ledger := store.open(service)) is not None:
            return ledger
    raise ConfigurationError(
        f"{type(service).__name__} keeps no budgets{chains.registry.why_missing(BudgetStore)}: use sessions in memory, "
        f"SQLite, PostgreSQL, MariaDB or MySQL (also behind Redis), or a plugin with `register_budget_stores`"
    )
