"""Limits: how much may be spent, on whose account, and what happens then."""

from __future__ import annotations

import calendar
import json
import time
from collections.abc import Iterator
from hashlib import blake2b
from typing import Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, Field, TypeAdapter, model_validator

from newel_kernel import ConfigurationError, plain

#: What is counted. Each unit is a whole number in the store: nanodollars, tokens, calls, milliseconds.
Unit: TypeAlias = Literal["money", "tokens", "calls", "seconds"]
Per: TypeAlias = Literal["run", "session", "user", "app", "all"]
AtLimit: TypeAlias = Literal["refuse", "cheaper", "ask"]
#: How many of the store's unit are one of a limit's.
SCALE: dict[Unit, int] = {"money": 1_000_000_000, "tokens": 1, "calls": 1, "seconds": 1_000}
UNITS: tuple[Unit, ...] = tuple(SCALE)
#: The longest name within an account's id, as JSON: some databases bound the length of a key.
_LONGEST_NAME = 120
#: The largest limit in the store's units: databases have 64 bits, also for what is spent beyond it and raised.
_MOST = 2**60


class Limit(BaseModel, extra="forbid", defer_build=True):
    """What may be spent in all by those that share an account: at least one of money, tokens, calls and seconds."""

    #: Whose calls count together: those of a run, a session, a user, an app, or of all that the store has.
    per: Per
    #: Whether each day (or month) of the calendar, in UTC, has an account of its own; None: there is one for ever.
    period: Literal["day", "month"] | None = None
    #: US dollars.
    money: float | None = Field(default=None, gt=0)
    #: Tokens, of requests and answers.
    tokens: int | None = Field(default=None, gt=0)
    #: Calls of models.
    calls: int | None = Field(default=None, gt=0)
    #: Seconds that models take to answer.
    seconds: float | None = Field(default=None, gt=0)
    #: What happens at the limit: the call is refused, a model of `model_fallbacks` answers, or a person is asked.
    at_limit: AtLimit = "refuse"

    @model_validator(mode="after")
    def _limits_something(self) -> Limit:
        if not any(getattr(self, unit) is not None for unit in UNITS):
            raise ValueError("a limit needs at least one of money, tokens, calls and seconds")
        dict(self.amounts())  # raises if one cannot be counted
        return self

    def amounts(self) -> Iterator[tuple[Unit, int]]:
        """The units that are limited, and to what, in the store's units."""
        for unit in UNITS:
            if (amount := getattr(self, unit)) is not None:
                yield unit, stored_amount(unit, amount)


#: Each is of one name more than the one before it.
_OWNERS: tuple[Per, ...] = ("all", "app", "user", "session", "run")


class Owner(NamedTuple):
    """On whose account a call is: the names of its run, from the app down."""

    app: str
    user: str
    session: str
    run: str


def account_id(limit: Limit, owner: Owner, now: float) -> str:
    """The id of an account: a JSON list of whose it is, the names, and the period."""
    names = map(_bounded, owner[: _OWNERS.index(limit.per)])
    return json.dumps([limit.per, *names, *([period_of(limit, now)] if limit.period else ())])


def _bounded(name: str) -> str | list[str]:
    """A name; of one that is too long its start and a digest, in a form that no name has."""
    if len(json.dumps(name)) <= _LONGEST_NAME:
        return name
    return [json.dumps(name)[1:33].partition("\\")[0], blake2b(name.encode(), digest_size=16).hexdigest()]


def accounts_of_session(app: str, user: str, session: str) -> list[tuple[str, str, str]]:
    """Which accounts are of a session and its runs: for each kind an id, and the start and end of a range of ids."""
    found = []
    for per in ("run", "session"):  # in the order of their ids
        start = json.dumps([per, *map(_bounded, (app, user, session))])[:-1]
        found.append((f"{start}]", f"{start}, ", f"{start},!"))  # "!" follows the blank
    return found


class AccountName(NamedTuple):
    """What the id of an account says."""

    per: Per
    #: The names of its owner, from the app down.
    owner: tuple[str, ...]
    #: The day or month; None: it is for ever.
    period: str | None
    #: Whether all names are whole.
    exact: bool


def account_name(id_: str) -> AccountName:
    """What an account's id says; a long name is shown by its start and its digest."""
    per, *rest = json.loads(id_)
    names = [name if isinstance(name, str) else "~".join(name) for name in rest]
    depth = _OWNERS.index(per)
    period = names[depth] if len(names) > depth else None
    return AccountName(per, tuple(names[:depth]), period, all(isinstance(name, str) for name in rest))


def shown_account(id_: str) -> str:
    """An account's name for people: ``user/shop/ann/2026-11-26``."""
    name = account_name(id_)
    return "/".join([name.per, *name.owner, *([name.period] if name.period else ())])


def period_of(limit: Limit, now: float) -> str:
    """The day or month of a time, in UTC."""
    return time.strftime("%Y-%m-%d" if limit.period == "day" else "%Y-%m", time.gmtime(now))


def period_end(limit: Limit, now: float) -> float | None:
    """When the account of this time ends, in seconds since the epoch; None: never."""
    return None if limit.period is None else end_of(period_of(limit, now))


def end_of(period: str) -> float:
    """When a day or a month ends, in seconds since the epoch."""
    year, month, *day = map(int, period.split("-"))
    if day:
        return float(calendar.timegm((year, month, day[0], 0, 0, 0)) + 86_400)
    return float(calendar.timegm((year + month // 12, month % 12 + 1, 1, 0, 0, 0)))


def stored_amount(unit: Unit, amount: float) -> int:
    """An amount of a limit's unit in the store's; a ConfigurationError if it is none that a store can count."""
    least, most = 1 / SCALE[unit], most_amount(unit)
    if amount and not least <= amount <= most:
        raise ConfigurationError(f"{plain(amount, 40)} {unit} cannot be counted: it is not from {least:g} to {most:g}")
    return round(amount * SCALE[unit])


def most_amount(unit: Unit) -> float:
    """The largest limit of a unit."""
    return _MOST / SCALE[unit]


def shown_amount(unit: Unit, stored: int) -> str:
    """An amount for people: ``$4.20``, ``1,200 tokens``, ``3 calls``, ``12.5 seconds``."""
    amount = stored / SCALE[unit]
    if unit == "money":
        return f"${amount:,.2f}" if round(amount, 2) == round(amount, 6) else f"${amount:,.6f}".rstrip("0")
    number = f"{amount:,.3f}".rstrip("0").rstrip(".")
    return f"{number} {unit if amount != 1 else unit.removesuffix('s')}"


_limits = TypeAdapter(tuple[Limit, ...], config={"defer_build": True})


def read_limits(value: object) -> tuple[Limit, ...]:
    """Limits from objects or their fields; a ValidationError says what is wrong."""
    return _limits.validate_python(value)
