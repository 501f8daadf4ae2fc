"""Dialects: the SQL in which SQLite, PostgreSQL, and MariaDB or MySQL differ. Parameters are written ?1, ?2 …"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

#: In PostgreSQL whoever follows sessions shares an advisory lock for each: of this class, the session's number in so
#: many. An append that can take it alone knows that nobody does. Changes are told in this channel, as TABLE:NUMBER.
FOLLOWED_CLASS, FOLLOWED_SLOTS, CHANGES = 0x6E65776C, 256, "newel_changes"
#: No lease is given for longer, in seconds.
LONGEST_LEASE = 86_400
_PARAMETER = re.compile(r"\?(\d+)")


def _same(name: str) -> str | bytes:
    return name


def _without_nul(name: str) -> str:
    """PostgreSQL's text has no NUL. The backslash is the escape, so that every name has a distinct form."""
    return name if name.isprintable() and "\\" not in name else name.replace("\\", "\\\\").replace("\0", "\\0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One database's SQL. In the program, times are seconds since the epoch, whatever the column holds."""

    name: str
    #: The prefix of the tables' names: a server's database may have other tables.
    prefix: str = ""
    #: The clock of leases, and the time so many seconds (a parameter) later, both in the columns' unit. It is the
    #: clock of a server; of a file, that of the machine since it started, which no adjustment of the time moves.
    now: str
    later: str = "{now} + {seconds}"
    #: Converts a time of the program to the column's form, and back.
    instant: str = "{seconds}"
    seconds: str = "{column}"
    #: How many seconds remain until a column's time, and whether it has come.
    until: str = "{column} - {now}"
    over: str = "{column} <= {now}"
    #: The times that the column can hold.
    times: tuple[float, float] = (-math.inf, math.inf)
    #: Whether a column of data holds a text, in upper or lower case; ! escapes the pattern's wildcards.
    like: str = "{column} LIKE {pattern} ESCAPE '!'"
    #: The column `key`, a name that some databases reserve.
    key: str = "key"
    #: Whether statements name the types of parameters; else the values show them.
    casts: bool = False
    #: Whether UPDATE has RETURNING, and whether one statement may contain several that change data.
    returning: bool = True
    at_once: bool = False
    #: Selects rows in order to change those that no other transaction has locked; empty: a transaction has all rows.
    unlocked: str = "FOR UPDATE SKIP LOCKED"
    #: Begins a transaction that will write.
    begin: str = "BEGIN"
    #: Whether somebody follows the session of the column `number`, and tells those who follow some (a table and, as ?1,
    #: the numbers of sessions) that they have changed; empty: nobody can be told.
    followed: str = ""
    announce: str = ""
    #: Makes an INSERT do nothing (empty: it fails), or replace the value, if the row exists.
    unless_exists: str = "ON CONFLICT DO NOTHING"
    replacing: str = "ON CONFLICT ({columns}) DO UPDATE SET value = excluded.value"
    #: The command, before a table's name, that gives back the table's free space.
    vacuum: str = ""
    #: Takes the time limit of statements away, and brings it back.
    unlimited: tuple[str, ...] = ()
    #: Whether data are given to the driver as text.
    as_text: bool = True
    #: The types of columns.
    types: dict[str, str] = field(default_factory=dict)
    #: The stored form of a name (an app's, a user's, a session's, a key of the state).
    stored: Callable[[str], str | bytes] = _same

    def time(self, seconds: float) -> float:
        """A time that the column can hold."""
        low, high = self.times
        return seconds if low <= seconds <= high else high if seconds > high else low

    def read(self, name: str | bytes) -> str:
        """The name of a stored form."""
        if isinstance(name, bytes):
            return name.decode()
        if self.stored is not _without_nul or "\\" not in name:
            return name
        return re.sub(r"\\(.)", lambda match: "\0" if match[1] == "0" else match[1], name)


#: The function that each connection to an SQLite file must offer: see `newel.sessions.stored.clockwork.elapsed`.
CLOCK = "newel_elapsed"
SQLITE = Dialect(
    name="sqlite",
    now=f"{CLOCK}()",
    # The clock starts again with the machine, and no lease is longer than this: see `LONGEST_LEASE`.
    over=f"{{column}} NOT BETWEEN {{now}} AND {{now}} + {LONGEST_LEASE:d}",
    unlocked="",
    begin="BEGIN IMMEDIATE",
    as_text=False,
    like="CAST({column} AS TEXT) LIKE {pattern} ESCAPE '!'",
    types={
        # AUTOINCREMENT: a session created again under an old id must not get the old one's number.
        "number": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "integer": "INTEGER",
        "name": "TEXT",
        "text": "TEXT",
        "time": "REAL",
        "data": "BLOB",
        "clustered": " WITHOUT ROWID",
        "table": "",
    },
)
POSTGRES = Dialect(
    name="postgresql",
    prefix="newel_",
    now="clock_timestamp()",
    later="{now} + make_interval(secs => {seconds})",
    instant="to_timestamp({seconds})",
    seconds="CAST(extract(epoch from {column}) AS double precision)",
    until="CAST(extract(epoch from {column} - {now}) AS double precision)",
    times=(-62_000_000_000.0, 253_000_000_000.0),
    key='"key"',
    like="{column} ILIKE {pattern} ESCAPE '!'",
    casts=True,
    at_once=True,
    followed=f"NOT pg_try_advisory_xact_lock({FOLLOWED_CLASS:d}, CAST(number % {FOLLOWED_SLOTS:d} AS integer))",
    # No other transaction of the server that notifies commits meanwhile: it must not wait for a disk.
    announce=(
        "SELECT set_config('synchronous_commit', 'off', true), "
        "pg_notify('{channel}', CAST(CAST('{table}' AS regclass) AS oid) || ':' || n) "
        "FROM unnest(CAST(?1 AS bigint[])) AS changed (n)"
    ),
    vacuum="VACUUM (ANALYZE)",
    unlimited=("SET statement_timeout = 0", "RESET statement_timeout"),
    types={
        # Text, because jsonb alters numbers and texts; names are ordered by their bytes.
        "number": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "integer": "bigint",
        "name": 'text COLLATE "C"',
        "text": "text",
        "time": "timestamptz",
        "data": "text",
        "clustered": "",
        "table": "",
    },
    stored=_without_nul,
)
MYSQL = Dialect(
    name="mysql",
    prefix="newel_",
    # UTC, because the server's time zone may have an hour that occurs twice.
    now="(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1e6)",
    times=(-1e300, 1e300),
    key="`key`",
    like="CONVERT({column} USING utf8mb4) LIKE {pattern} ESCAPE '!'",
    returning=False,
    unless_exists="",
    vacuum="OPTIMIZE TABLE",
    replacing="ON DUPLICATE KEY UPDATE value = VALUES(value)",
    types={
        # Binary, because MySQL's collations take some different texts for equal.
        "number": "BIGINT AUTO_INCREMENT PRIMARY KEY",
        "integer": "BIGINT",
        "name": "VARBINARY(800)",
        "text": "TEXT",
        "time": "DOUBLE",
        "data": "LONGBLOB",
        "clustered": " ENGINE=InnoDB",
        "table": " ENGINE=InnoDB",
    },
)
#: The dialects, by SQLAlchemy's names for them.
DIALECTS = {"sqlite": SQLITE, "postgresql": POSTGRES, "mysql": MYSQL, "mariadb": MYSQL}


class Rendered(NamedTuple):
    """A statement in a driver's own style, and which value each of its parameters takes."""

    text: str
    order: tuple[int, ...]
    #: Exactly this many values are passed unchanged, in their order; -1: values never are.
    plain: int

    def values(self, values: Sequence[object]) -> Sequence[object]:
        """The values in the order of the parameters."""
        return values if len(values) == self.plain else [values[place] for place in self.order]


@lru_cache(maxsize=1024)
def numbered(sql: str, mark: str) -> Rendered:
    """The statement with parameters as $1, $2 … without gaps."""
    used = sorted({int(number) for number in _PARAMETER.findall(sql)})
    place = {number: at for at, number in enumerate(used, 1)}
    text = _PARAMETER.sub(lambda match: f"{mark}{place[int(match[1])]}", sql)
    order = tuple(number - 1 for number in used)
    return Rendered(text, order, len(order) if order == tuple(range(len(order))) else -1)


@lru_cache(maxsize=1024)
def in_order(sql: str, mark: str) -> Rendered:
    """The statement with parameters as %s or ?, which sqlite3 wants for a sequence of values from Python 3.14 on."""
    order = tuple(int(number) - 1 for number in _PARAMETER.findall(sql))
    text = _PARAMETER.sub(mark, sql.replace("%", "%%") if mark == "%s" else sql)
    return Rendered(text, order, len(order) if order == tuple(range(len(order))) else -1)
