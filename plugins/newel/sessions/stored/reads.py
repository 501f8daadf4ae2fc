"""The reads of a durable store. Values of one moment come from one statement."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic_core import to_json

from newel.sessions.contract import SessionOwner
from newel.sessions.stored.rows import EventRows, Key, Row, Scope, State, merged
from newel.sessions.stored.statements import Statements
from newel.sessions.stored.steps import Query, Steps

#: Reading so many events takes about a millisecond.
FEW_EVENTS = 200


@dataclass(frozen=True, slots=True)
class View:
    """A session's row and state, or None."""

    key: Key
    many: ClassVar[bool] = False

    def steps(self, sql: Statements) -> Steps[tuple[Row, State] | None]:
        """See `Read`."""
        d = sql.dialect
        row: Row | None = None
        scopes: tuple[Scope, Scope, Scope] = ({}, {}, {})
        for part, name, value, *columns in (yield Query(sql.view, tuple(map(d.stored, self.key)))).rows:
            if part == 0:
                row = _row(sql, columns)
            else:
                scopes[part - 1][d.read(name)] = value
        return (row, merged(self.key, *scopes)) if row is not None else None


@dataclass(frozen=True, slots=True)
class Head:
    """A session's row, or None."""

    key: Key
    many: ClassVar[bool] = False

    def steps(self, sql: Statements) -> Steps[Row | None]:
        """See `Read`."""
        rows = (yield Query(sql.row, tuple(map(sql.dialect.stored, self.key)))).rows
        return _row(sql, rows[0]) if rows else None


@dataclass(frozen=True, slots=True)
class Tail:
    """The events with the sequence numbers from `first` on, below `version`; with `since`, those from that time on."""

    number: int
    first: int
    version: int
    since: float | None = None

    @property
    def many(self) -> bool:
        """See `Read`."""
        return self.version - self.first > FEW_EVENTS

    def steps(self, sql: Statements) -> Steps[EventRows]:
        """See `Read`."""
        where = (self.number, self.first, self.version)
        query = (
            Query(sql.tail, where)
            if self.since is None
            else Query(sql.tail_since, (*where, sql.dialect.time(self.since)))
        )
        return (yield query).rows  # type: ignore[return-value]  # two columns


@dataclass(frozen=True, slots=True)
class Listing:
    """A user's sessions (every user's if None), by user and in the order of creation, at most `size` of them."""

    app_name: str
    user_id: str | None
    size: int | None = None
    #: The user and the number after which the list begins.
    after: tuple[str, int] | None = None
    many: ClassVar[bool] = True

    def steps(self, sql: Statements) -> Steps[list[tuple[Key, Row, State]]]:
        """See `Read`."""
        d = sql.dialect
        rows_of, own_of, users_of = sql.page(self.user_id is not None, self.after is not None, self.size is not None)
        user, number = self.after or ("", 0)
        user_id = user if self.user_id is None else self.user_id
        values = (d.stored(self.app_name), d.stored(user_id), number, self.size or 0)
        rows = [_row(sql, columns) for columns in (yield Query(rows_of, values)).rows]
        if not rows:
            return []
        own: defaultdict[int, Scope] = defaultdict(dict)
        for number, key, value in (yield Query(own_of, values)).rows:
            own[number][d.read(key)] = value
        users: defaultdict[str, Scope] = defaultdict(dict)
        for user, key, value in (yield Query(users_of, values)).rows:
            users[d.read(user)][d.read(key)] = value
        app: Scope = {d.read(key): value for key, value in (yield Query(sql.of_app, values[:1])).rows}
        entries = []
        for row in rows:
            key = Key(self.app_name, row.user_id, row.id)
            entries.append((key, row, merged(key, app, users[row.user_id], own[row.number])))
        return entries


@dataclass(frozen=True, slots=True)
class Owners:
    """The users of all apps who have sessions."""

    many: ClassVar[bool] = True

    def steps(self, sql: Statements) -> Steps[list[SessionOwner]]:
        """See `Read`."""
        read = sql.dialect.read
        rows = (yield Query(sql.owners)).rows
        return [SessionOwner(read(app), read(user), int(count), float(time)) for app, user, count, time in rows]


@dataclass(frozen=True, slots=True)
class Containing:
    """The ids of a user's sessions in whose JSON each text occurs, the latest first; maybe those of others, too."""

    app_name: str
    user_id: str
    texts: Sequence[str]
    many: ClassVar[bool] = True

    def steps(self, sql: Statements) -> Steps[list[str]]:
        """See `Read`."""
        d = sql.dialect
        values = (d.stored(self.app_name), d.stored(self.user_id), *map(_pattern, self.texts))
        return [d.read(id_) for (id_,) in (yield Query(sql.containing(len(self.texts)), values)).rows]


def _pattern(text: str) -> str:
    """The pattern of a text as JSON has it. Not every database knows the cases of all letters: those fit any one."""
    escaped = to_json(text).decode()[1:-1]
    return f"%{''.join(map(_letter, escaped))}%"


#: \u0130 is an i and this dot in lower case, and \u212a is a k: two letters that no database takes for those of ASCII.
_DOT = "\u0307"


def _letter(letter: str) -> str:
    if letter in "!%_":
        return f"!{letter}"
    if letter == _DOT or len(letter.lower()) > 1:
        return "%"
    return letter if (letter.isascii() and letter not in "iIkK") or letter.lower() == letter.upper() else "_"


def _row(sql: Statements, columns: Sequence[Any]) -> Row:
    number, version, lease, update_time, owner, seconds, in_band, user_id, id_ = columns
    read = sql.dialect.read
    return Row(number, read(user_id), read(id_), version, lease, float(update_time), owner, float(seconds), in_band)
