"""`newel budgets`: what is spent and how much may be; raise a limit, or let an account begin again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import click

from newel import budgets as accounting
from newel.budgets.pruning import stale
from newel.cli.agent_sessions import AgentSessions, store_options, with_sessions
from newel.cli.ages import Age
from newel.cli.loading import OpenGroup
from newel.cli.terminal import say, show_json, show_table, shown, to_terminal
from newel.contexts.limits import SCALE, UNITS, Unit, shown_account, shown_amount, stored_amount
from newel_kernel import ConfigurationError, did_you_mean, seam


@click.group("budgets", cls=OpenGroup)
def budgets() -> None:
    """Show and change what may be spent in the store of AGENT's sessions.

    An account is named as `list` shows it, such as user/shop/alice/2026-11-26; it may be shortened at its end.
    """


@budgets.command("list")
@store_options
@click.pass_context
def list_accounts(ctx: click.Context, agent: str, sessions: str | None) -> None:
    """List all accounts: what is spent, and how much may be; a table on a terminal, else JSON."""

    async def work(stored: AgentSessions) -> Sequence[accounting.Account]:
        return await _ledger(stored).accounts()

    accounts = with_sessions(ctx, agent, None, sessions, work)
    if not to_terminal():
        show_json([_facts(account) for account in accounts])
        return
    rows = [_row(account) for account in accounts]
    show_table(f"budgets in the store of {agent}", ("account", "spent", "limit", "raised by", "under way"), rows)


@budgets.command("raise")
@store_options
@click.argument("account")
@click.argument("unit", type=click.Choice(UNITS))
@click.argument("amount", type=click.FloatRange(min=0, min_open=True))
@click.pass_context
def raise_limit(ctx: click.Context, agent: str, account: str, unit: str, amount: float, sessions: str | None) -> None:
    """Let ACCOUNT have AMOUNT more of UNIT (money is in dollars). A run that was refused can be resumed then."""
    counted = cast(Unit, unit)

    async def work(stored: AgentSessions) -> str:
        ledger = _ledger(stored)
        name = _named(account, [one for one in await ledger.accounts() if one.unit == unit], unit)
        await ledger.raise_limit(name, counted, stored_amount(counted, amount))
        return name

    name = with_sessions(ctx, agent, None, sessions, work)
    say(f"{shown_account(name)} may have {shown_amount(counted, stored_amount(counted, amount))} more")


@budgets.command("reset")
@store_options
@click.argument("account")
@click.pass_context
def reset(ctx: click.Context, agent: str, account: str, sessions: str | None) -> None:
    """Let ACCOUNT begin again: nothing spent, its limits as they are set."""

    async def work(stored: AgentSessions) -> str:
        ledger = _ledger(stored)
        name = _named(account, await ledger.accounts(), "any unit")
        await ledger.reset(name)
        return name

    say(f"{shown_account(with_sessions(ctx, agent, None, sessions, work))} begins again")


@budgets.command("prune")
@store_options
@click.option(
    "--older-than",
    type=Age(),
    default="30d",
    metavar="AGE",
    help="Only what was not used for this long; by default 30d.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.pass_context
def prune(ctx: click.Context, agent: str, sessions: str | None, older_than: float, dry_run: bool) -> None:
    """Remove accounts of runs, and of days and months that are over, and those of sessions that are gone (after a day).

    Accounts of users, apps and all apps stay while they count, and so does every account with a call under way.
    """

    async def work(stored: AgentSessions) -> Sequence[str]:
        ledger = _ledger(stored)
        found = await stale(await ledger.accounts(), stored.store, seam.clock(), older_than)
        return [one.id for one in found if dry_run or await ledger.remove(one)]

    removed = with_sessions(ctx, agent, None, sessions, work)
    for name in dict.fromkeys(map(shown_account, removed)):
        say(name)
    say(f"{'would remove' if dry_run else 'removed'} {len(set(removed))} in all", err=True)


def _ledger(stored: AgentSessions) -> accounting.Ledger:
    return accounting.ledger_of(stored.composition, stored.store)


def _named(text: str, accounts: Sequence[accounting.Account], unit: str) -> str:
    """The id of the account with that name, or of the only one whose name begins with it."""
    names = {account.id: shown_account(account.id) for account in accounts}
    matches = [id_ for id_, name in names.items() if text in (id_, name)]
    matches = matches or [id_ for id_, name in names.items() if text and name.startswith(text)]
    if len(matches) > 1:
        several = ", ".join(shown(names[id_]) for id_ in matches[:5])
        raise ConfigurationError(f"{len(matches)} accounts begin with {text!r}: {several}; give more of the name")
    if not matches:
        hint = did_you_mean(text, names.values()) or f"; `newel budgets list` shows all {len(names)}"
        raise ConfigurationError(f"there is no account {text!r} of {unit}{hint}")
    return matches[0]


def _facts(account: accounting.Account) -> dict[str, object]:
    scale = SCALE[account.unit]
    return {
        "account": shown_account(account.id),
        "unit": account.unit,
        "spent": account.spent / scale,
        "limit": None if account.limit is None else (account.limit + account.raised) / scale,
        "raised": account.raised / scale,
        "under_way": account.held / scale,
    }


def _row(account: accounting.Account) -> list[str]:
    limit = "" if account.limit is None else shown_amount(account.unit, account.limit + account.raised)
    raised, held = (shown_amount(account.unit, one) if one else "" for one in (account.raised, account.held))
    return [shown(shown_account(account.id)), shown_amount(account.unit, account.spent), limit, raised, held]
