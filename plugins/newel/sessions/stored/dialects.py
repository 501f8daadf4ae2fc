"""Dialects: what SQLite, PostgreSQL and MariaDB or MySQL say each in its own way. Parameters are written ?1, ?2 …"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

_PARAMETER = re.compile(r"\?(\d+)")


def _same(name: str) -> str | bytes:
    return name


def _without_nul(name: str) -> str:
    """PostgreSQL's text has no NUL. The backslash is the mark, so that every name has a form of its own."""
    return name if name.isprintable() and "\\" not in name else name.replace("\\", "\\\\").replace("\0", "\\0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One database's words. Times are seconds since the epoch in the programme, whatever the column has."""

    name: str
    #: Before the names of the tables, which stand beside others in a server's database.
    prefix: str = ""
    #: The clock of the store, and of a time in so many seconds (a parameter), both in the columns' unit.
    now: str
    later: str = "{now} + {seconds}"
    #: A time of the programme as the column has it, and back.
    instant: str = "{seconds}"
    seconds: str = "{column}"
    #: How many seconds there are until a time of the column.
    until: str = "{column} - {now}"
    #: The times that the column can hold.
    times: tuple[float, float] = (-math.inf, math.inf)
    #: The column `key`, whose name some reserve.
    key: str = "key"
    #: Whether statements name the types of parameters; else the values show them.
    casts: bool = False
    #: Whether UPDATE has RETURNING, and whether a statement may hold several that change data.
    returning: bool = True
    at_once: bool = False
    #: How a transaction begins that will write.
    begin: str = "BEGIN"
    #: What makes an INSERT do nothing (empty: it fails), or replace the value, where the row is there.
    unless_there: str = "ON CONFLICT DO NOTHING"
    replacing: str = "ON CONFLICT ({columns}) DO UPDATE SET value = excluded.value"
    #: What stands before the name of a table whose room is to be given back.
    vacuum: str = ""
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


SQLITE = Dialect(
    name="sqlite",
    now="((julianday('now') - 2440587.5) * 86400.0)",
    begin="BEGIN IMMEDIATE",
    as_text=False,
    types={
        # AUTOINCREMENT: a session created anew under an old id must not get the old one's number.
        "number": "INTEGER PRIMARY KEY AUTOINCREMENT", "integer": "INTEGER", "name": "TEXT", "text": "TEXT",
        "time": "REAL", "data": "BLOB", "clustered": " WITHOUT ROWID", "table": "",
    },
)  # fmt: skip
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
    casts=True,
    at_once=True,
    vacuum="VACUUM (ANALYZE)",
    types={
        # Text, because jsonb has numbers and texts of its own; the order of names is that of their bytes.
        "number": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", "integer": "bigint",
        "name": 'text COLLATE "C"', "text": "text", "time": "timestamptz", "data": "text", "clustered": "", "table": "",
    },
    stored=_without_nul,
)  # fmt: skip
MYSQL = Dialect(
    name="mysql",
    prefix="newel_",
    # The server's time zone has an hour that comes twice.
    now="(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1e6)",
    times=(-1e300, 1e300),
    key="`key`",
    returning=False,
    unless_there="",
    vacuum="OPTIMIZE TABLE",
    replacing="ON DUPLICATE KEY UPDATE value = VALUES(value)",
    types={
        # Binary, because its collations take some texts that differ for one.
        "number": "BIGINT AUTO_INCREMENT PRIMARY KEY", "integer": "BIGINT", "name": "VARBINARY(800)", "text": "TEXT",
        "time": "DOUBLE", "data": "LONGBLOB", "clustered": " ENGINE=InnoDB", "table": " ENGINE=InnoDB",
    },
)  # fmt: skip
#: By the name that SQLAlchemy has for them.
DIALECTS = {"sqlite": SQLITE, "postgresql": POSTGRES, "mysql": MYSQL, "mariadb": MYSQL}


class Rendered(NamedTuple):
    """A statement in a driver's own way, and which value each of its parameters takes."""

    text: str
    order: tuple[int, ...]
    #: So many values are given as they are, in their order; -1: they are never.
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
