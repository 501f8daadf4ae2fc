"""The statements of a durable store, in a dialect. Ids are parameters, never SQL text.

A parameter has the same number in all the statements that a write yields with the same values.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Literal, NamedTuple

from newel.sessions.stored.dialects import CHANGES, Dialect

#: How an append treats the lease: its view holds none (or none that is prolonged), holds it, or takes it.
Hold = Literal["none", "held", "taking"]
_TYPES = {"int": "bigint", "real": "double precision", "text": "text", "texts": "text[]"}


class Scope(NamedTuple):
    """A table of state: what its rows belong to."""

    table: str
    owners: tuple[str, ...]
    kind: str


APP = Scope("app_state", ("app_name",), "text")
USER = Scope("user_state", ("app_name", "user_id"), "text")
SESSION = Scope("session_state", ("session",), "int")
SCOPES = (APP, USER, SESSION)


class Statements:
    """The statements of a dialect, whose tables are in `place` (a schema with a dot, or nothing)."""

    def __init__(self, dialect: Dialect, place: str = "") -> None:
        self.dialect = dialect
        self._at = place + dialect.prefix
        self._sessions, self._events = f"{self._at}sessions", f"{self._at}events"
        updated = f"coalesce({dialect.seconds.format(column='update_time')}, 0)"
        self._is_over = dialect.over.format(column="lease_until", now=dialect.now)
        until = dialect.until.format(column="lease_until", now=dialect.now)
        seconds = f"CASE WHEN lease_until IS NULL OR {self._is_over} THEN 0 ELSE {until} END"
        self._columns = f"number, version, lease, {updated}, owner, {seconds}, in_band, user_id, id"
        self._key = f"app_name = {self._p(1)} AND user_id = {self._p(2)} AND id = {self._p(3)}"
        self.count = cache(self._count)
        self.append = cache(self._append)
        self.put = cache(self._put)
        self.put_all = cache(self._put_all)
        self.put_new = cache(self._put_new)
        self.add_all = cache(self._add_all)
        self.remove = cache(self._remove)
        self.page = cache(self._page)
        self.containing = cache(self._containing)
        self.prolong_all = cache(self._prolong_all)
        self.epochs = cache(self._epochs)

    def table(self, name: str) -> str:
        """A table's name in statements."""
        return f"{self._at}{name}"

    def later(self, number: int) -> str:
        """The time that is so many seconds (a parameter) from now, by the clock of leases."""
        return self.dialect.later.format(now=self.dialect.now, seconds=self._p(number, "real"))

    # --- reading ---------------------------------------------------------------------------------------------------

    @cached_property
    def row(self) -> str:
        """Selects a session: the app, the user and its id."""
        return f"SELECT {self._columns} FROM {self._sessions} WHERE {self._key}"

    @cached_property
    def free_row(self) -> str:
        """The same, unless another transaction has locked it."""
        return f"{self.row} {self.dialect.unlocked}"

    @cached_property
    def view(self) -> str:
        """The same with its state: part 0 is the session, 1 to 3 are the scopes' keys and values."""
        key, nothing = self.dialect.key, ", ".join(["NULL"] * 9)
        app = f"app_name = {self._p(1)}"
        own = f"session = (SELECT number FROM {self._sessions} WHERE {self._key})"
        wheres = (app, f"{app} AND user_id = {self._p(2)}", own)
        parts = [
            f"SELECT {n}, {key}, value, {nothing} FROM {self._at}{scope.table} WHERE {where}"
            for n, (scope, where) in enumerate(zip(SCOPES, wheres, strict=True), 1)
        ]
        head = f"SELECT 0, {self._null('text')}, {self._null('data')}, {self._columns} "
        return " UNION ALL ".join([f"{head} FROM {self._sessions} WHERE {self._key}", *parts])

    @cached_property
    def tail(self) -> str:
        """Selects events: the session's number, the first sequence number, and the one after the last."""
        return (
            f"SELECT sequence, data FROM {self._events} WHERE session = ?1 AND sequence >= ?2 AND sequence < ?3 "
            f"ORDER BY sequence"
        )

    @cached_property
    def tail_since(self) -> str:
        """The same, of a time (?4) and later."""
        return self.tail.replace("ORDER", f"AND timestamp >= {self._instant(4)} ORDER")

    @cached_property
    def obstacle(self) -> str:
        """Selects what prevents an append: the session's number, and the sequence number of the append."""
        holder = f"CASE WHEN NOT ({self._is_over}) THEN owner END"
        event = f"SELECT data FROM {self._events} WHERE session = ?1 AND sequence = ?2"
        return f"SELECT version, lease, {holder}, ({event}) FROM {self._sessions} WHERE number = ?1"

    @cached_property
    def of_app(self) -> str:
        """Selects the state of an app."""
        return f"SELECT {self.dialect.key}, value FROM {self._at}app_state WHERE app_name = {self._p(1)}"

    @cached_property
    def owners(self) -> str:
        """Selects the users of all apps, the number of their sessions, and when one was last changed."""
        latest = self.dialect.seconds.format(column="max(update_time)")
        return (
            f"SELECT app_name, user_id, count(*), coalesce({latest}, 0) FROM {self._sessions} "
            f"GROUP BY app_name, user_id ORDER BY app_name, user_id"
        )

    def _containing(self, count: int) -> str:
        """Selects the ids of a user's sessions, the latest first: the app, the user, and `count` patterns (?3, ...).

        Each pattern fits an event of the session, or a value of its own state.
        """
        tables = ((self._events, "data"), (f"{self._at}session_state", "value"))
        conditions = ""
        for place in range(3, 3 + count):
            fits = (
                f"EXISTS (SELECT 1 FROM {table} WHERE session = number AND "
                f"{self.dialect.like.format(column=column, pattern=self._p(place))})"
                for table, column in tables
            )
            conditions += f" AND ({' OR '.join(fits)})"
        owner = f"app_name = {self._p(1)} AND user_id = {self._p(2)}"
        return f"SELECT id FROM {self._sessions} WHERE {owner}{conditions} ORDER BY update_time DESC, number DESC"

    def _page(self, of_user: bool, after: bool, bounded: bool) -> tuple[str, str, str]:
        """Select a list: the rows, their own states, and the states of their users.

        The values are the app, the user (?2), the user and the number after which the page begins (?2, ?3), and its
        size (?4). Values that the list does not need are ignored.
        """
        key, user, number = self.dialect.key, self._p(2), self._p(3, "int")
        where = f"app_name = {self._p(1)}"
        if of_user:
            where += f" AND user_id = {user}" + (f" AND number > {number}" if after else "")
        elif after:
            where += f" AND (user_id > {user} OR (user_id = {user} AND number > {number}))"
        clause = f"WHERE {where} ORDER BY user_id, number" + (f" LIMIT {self._p(4, 'int')}" if bounded else "")
        page = f"(SELECT number, user_id FROM {self._sessions} {clause}) AS page"
        return (
            f"SELECT {self._columns} FROM {self._sessions} {clause}",
            f"SELECT session, {key}, value FROM {self._at}session_state JOIN {page} ON session = page.number",
            f"SELECT mine.user_id, {key}, value FROM {self._at}user_state AS mine "
            f"JOIN (SELECT DISTINCT user_id FROM {page}) AS users ON users.user_id = mine.user_id "
            f"WHERE mine.app_name = {self._p(1)}",
        )

    # --- sessions --------------------------------------------------------------------------------------------------

    @cached_property
    def create(self) -> str:
        """Inserts a session: the app, the user, its id, the time and the version."""
        time = self._instant(4)
        insert = (
            f"INSERT INTO {self._sessions} (app_name, user_id, id, create_time, update_time, version, in_band) VALUES "
            f"({self._p(1)}, {self._p(2)}, {self._p(3)}, {time}, {time}, ?5, ?5) {self.dialect.unless_exists}"
        )
        return f"{insert} RETURNING number" if self.dialect.returning else insert

    @cached_property
    def creation(self) -> str:
        """Selects just this session, if an attempt whose answer was lost created it."""
        time = self._instant(4)
        return f"SELECT number FROM {self._sessions} WHERE {self._key} AND create_time = {time} AND version = ?5"

    @cached_property
    def copy(self) -> str:
        """Copies the events of another session: the new number, the old one, and how many."""
        columns = "sequence, timestamp, data"
        return (
            f"INSERT INTO {self._events} (session, {columns}) SELECT {self._p(1, 'int')}, {columns} "
            f"FROM {self._events} WHERE session = ?2 AND sequence < ?3"
        )

    @cached_property
    def delete(self) -> tuple[str, ...]:
        """Delete the session's row, its state and its events. The row first: an append made meanwhile waits for it."""
        return (
            f"DELETE FROM {self._sessions} WHERE number = ?1",
            f"DELETE FROM {self._at}session_state WHERE session = ?1",
            f"DELETE FROM {self._events} WHERE session = ?1",
        )

    @cached_property
    def vacuum(self) -> tuple[str, ...]:
        """Give back the space of deleted data; none of them may run in a transaction."""
        tables = ("sessions", "events", *(scope.table for scope in SCOPES))
        commands = (f"{self.dialect.vacuum} {self._at}{table}" for table in tables)
        return (*self.dialect.unlimited[:1], *commands, *self.dialect.unlimited[1:])

    # --- leases ----------------------------------------------------------------------------------------------------

    @cached_property
    def take(self) -> str:
        """Takes the lease: the session's key, the owner, the seconds, and an owner that is known to be dead."""
        free = self._free(4, 6)
        return self._returning(f"UPDATE {self._sessions} SET {self._taking(4, 5)} WHERE {self._key} AND {free}")

    @cached_property
    def prolong(self) -> str:
        """Prolongs the lease: the session's number, the epoch, and the seconds."""
        return self._lease_update(f"lease_until = {self.later(3)}")

    @cached_property
    def give_back(self) -> str:
        """Gives the lease back: the session's number and the epoch."""
        followed = f", {self.dialect.followed}" if self.dialect.followed else ""
        return self._lease_update("owner = NULL, lease_until = NULL") + followed

    @cached_property
    def announce(self) -> str:
        """Tells other processes that sessions have changed: their numbers. Empty: the database cannot."""
        return self.dialect.announce.format(channel=CHANGES, table=self._sessions.replace("'", "''"))

    def _prolong_all(self, count: int) -> str:
        """Prolongs so many leases by the same seconds: these, then the session's number and the epoch of each."""
        pairs = (
            f"(number = {self._p(n, 'int')} AND lease = {self._p(n + 1, 'int')})" for n in range(2, 2 + 2 * count, 2)
        )
        return f"UPDATE {self._sessions} SET lease_until = {self.later(1)} WHERE {' OR '.join(pairs)}"

    def _epochs(self, count: int, unlocked: bool) -> str:
        """Selects the numbers and epochs of so many sessions; if `unlocked`, of those whose rows can be changed."""
        marks = ", ".join(self._p(n, "int") for n in range(1, count + 1))
        lock = f" {self.dialect.unlocked}" if unlocked else ""
        return f"SELECT number, lease FROM {self._sessions} WHERE number IN ({marks}){lock}"

    def _lease_update(self, change: str) -> str:
        return self._returning(f"UPDATE {self._sessions} SET {change} WHERE number = ?1 AND lease = ?2")

    def _free(self, owner: int, dead_owner: int) -> str:
        """The condition that no other owner has the lease."""
        return f"(owner IS NULL OR owner = {self._p(owner)} OR owner = {self._p(dead_owner)} OR {self._is_over})"

    def _taking(self, owner: int, seconds: int) -> str:
        return f"lease = lease + 1, owner = {self._p(owner)}, lease_until = {self.later(seconds)}"

    # --- appending -------------------------------------------------------------------------------------------------

    @cached_property
    def add(self) -> str:
        """Inserts an event: the session's number, the sequence number, the time and the data."""
        columns = "session, sequence, timestamp, data"
        return f"INSERT INTO {self._events} ({columns}) VALUES (?1, ?2, {self._instant(3)}, ?4)"

    @cached_property
    def advance(self) -> str:
        """Counts events that an import adds: number, version, time, and the version afterwards."""
        version = self._p(4, "int")
        change = f"version = {version}, in_band = {version}, update_time = {self._instant(3)}"
        where = f"number = {self._p(1, 'int')} AND version = {self._p(2, 'int')}"
        return self._returning(f"UPDATE {self._sessions} SET {change} WHERE {where}")

    def _add_all(self, count: int) -> str:
        """Inserts `count` events: the session's number, then the sequence number, the time and the data of each."""
        rows = (
            f"({self._p(1, 'int')}, {self._p(n, 'int')}, {self._instant(n + 1)}, {self._p(n + 2)})"
            for n in range(2, 2 + 3 * count, 3)
        )
        return f"INSERT INTO {self._events} (session, sequence, timestamp, data) VALUES {', '.join(rows)}"

    def _put_new(self, scope: Scope) -> str:
        """Writes one key of a scope if it does not exist: its owners, the key and the value."""
        unless = self.dialect.unless_exists or "ON DUPLICATE KEY UPDATE value = value"
        return f"{self._put(scope).removesuffix(self._replacing(scope))}{unless}"

    def _count(self, hold: Hold) -> str:
        """Counts an event, takes or prolongs the lease: number, version, time, (data), then what `hold` needs.

        It returns the epoch only if that is needed: returned rows cost SQLite as much as the update.

        "none": the epoch (0: none) and whether it is out of band. "held": the epoch and the seconds. "taking": the
        owner, the seconds, and the owner that is known to be dead.
        """
        version = self._p(2, "int")
        change = f"version = {version} + 1, update_time = {self._instant(3)}, in_band = "
        where = f"number = {self._p(1, 'int')} AND version = {version}"
        if hold == "none":
            lease, apart = self._p(5, "int"), self._p(6, "int")
            change += f"CASE WHEN {apart} = 1 THEN in_band ELSE {version} + 1 END"
            where += f" AND ({lease} = 0 OR lease = {lease})"
        elif hold == "held":
            change += f"{version} + 1, lease_until = {self.later(6)}"
            where += f" AND lease = {self._p(5, 'int')}"
        else:
            change += f"{version} + 1, {self._taking(5, 6)}"
            where += f" AND {self._free(5, 7)}"
        update = f"UPDATE {self._sessions} SET {change} WHERE {where}"
        return self._returning(update) if hold == "taking" or self.dialect.at_once else update

    def _append(self, hold: Hold, puts: bool, removes: bool) -> str:
        """The whole append as one statement.

        The values are those of `count`; then, if it `puts` keys of the session's state, the keys and the values; if it
        `removes` some, the keys.
        """
        place = {"none": 7, "held": 7, "taking": 8}[hold]
        columns = "session, sequence, timestamp, data"
        event = f"SELECT number, {self._p(2, 'int')}, {self._instant(3)}, {self._p(4)} FROM counted"
        parts = [
            f"counted AS ({self._count(hold)}, number)",
            f"added AS (INSERT INTO {self._events} ({columns}) {event})",
        ]
        if puts:
            keys, values = (self._p(place + n, "texts") for n in (0, 1))
            new = f"SELECT number, k, v FROM counted, unnest({keys}, {values}) AS new (k, v)"
            parts.append(f"put AS ({self._insert(SESSION)} {new} {self._replacing(SESSION)})")
            place += 2
        if removes:
            where = f"session = (SELECT number FROM counted) AND {self.dialect.key} = ANY({self._p(place, 'texts')})"
            parts.append(f"removed AS (DELETE FROM {self._at}{SESSION.table} WHERE {where})")
        followed = f", {self.dialect.followed}" if self.dialect.followed else ""
        return f"WITH {', '.join(parts)} SELECT lease{followed} FROM counted"

    def _put_all(self, scope: Scope) -> str:
        """Writes keys of a scope, in their order: its owners, the keys and the values."""
        marks = [self._p(n, scope.kind) for n in range(1, len(scope.owners) + 1)]
        keys, values = (self._p(len(marks) + n, "texts") for n in (1, 2))
        new = f"unnest({keys}, {values}) WITH ORDINALITY AS new (k, v, n) ORDER BY n"
        return f"{self._insert(scope)} SELECT {', '.join(marks)}, k, v FROM {new} {self._replacing(scope)}"

    def _put(self, scope: Scope) -> str:
        """Writes one key of a scope: its owners, the key and the value."""
        marks = ", ".join(f"?{n + 1}" for n in range(len(scope.owners) + 2))
        return f"{self._insert(scope)} VALUES ({marks}) {self._replacing(scope)}"

    def _remove(self, scope: Scope) -> str:
        """Removes one key of a scope: its owners and the key."""
        match = [f"{name} = ?{n + 1}" for n, name in enumerate((*scope.owners, self.dialect.key))]
        return f"DELETE FROM {self._at}{scope.table} WHERE {' AND '.join(match)}"

    # --- parts -----------------------------------------------------------------------------------------------------

    def _insert(self, scope: Scope) -> str:
        return f"INSERT INTO {self._at}{scope.table} ({', '.join(scope.owners)}, {self.dialect.key}, value)"

    def _replacing(self, scope: Scope) -> str:
        return self.dialect.replacing.format(columns=f"{', '.join(scope.owners)}, {self.dialect.key}")

    def _p(self, number: int, kind: str = "text") -> str:
        """A parameter, with its type if the database needs it."""
        return f"CAST(?{number} AS {_TYPES[kind]})" if self.dialect.casts else f"?{number}"

    def _null(self, kind: str) -> str:
        return f"CAST(NULL AS {self.dialect.types[kind]})" if self.dialect.casts else "NULL"

    def _instant(self, number: int) -> str:
        return self.dialect.instant.format(seconds=self._p(number, "real"))

    def _returning(self, update: str) -> str:
        return f"{update} RETURNING lease" if self.dialect.returning else update
