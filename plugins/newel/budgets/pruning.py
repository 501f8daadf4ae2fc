"""Pruning: which accounts nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterable

from newel.budgets.ledger import Account
from newel.contexts.limits import AccountName, account_name, end_of
from newel_kernel import BaseSessionService, GetSessionConfig

#: For how long an account of a session that is not in the store stays: that of an evaluation is elsewhere.
_DAY = 86_400.0


async def stale(
    accounts: Iterable[Account], sessions: BaseSessionService, now: float, older_than: float
) -> list[Account]:
    """The accounts that can go, none of which was used for `older_than` seconds: of runs, and of days and months.

    Those of sessions that do not exist, and of their runs, go after a day. What never ends stays.
    """
    found: list[Account] = []
    exists: dict[tuple[str, ...], bool] = {}
    for account in accounts:
        name, unused = account_name(account.id), now - account.used
        if account.held:
            continue
        if unused >= older_than and _is_over(name, now - older_than):
            found.append(account)
        elif name.exact and len(name.owner) >= 3 and unused >= min(older_than, _DAY):
            owner = name.owner[:3]
            if owner not in exists:
                exists[owner] = await _exists(sessions, *owner)
            if not exists[owner]:
                found.append(account)
    return found


def _is_over(name: AccountName, before: float) -> bool:
    """Whether no call can come to an account any more, or none is to be expected."""
    return name.per == "run" or (name.period is not None and end_of(name.period) <= before)


async def _exists(sessions: BaseSessionService, app: str, user: str, session: str) -> bool:
    few = GetSessionConfig(num_recent_events=1)
    found = await sessions.get_session(app_name=app, user_id=user, session_id=session, config=few)
    return found is not None
