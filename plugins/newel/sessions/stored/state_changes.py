"""How writes change state. All of them lock the keys that sessions share in one order, so no two wait in a ring.

The order is: the app's keys by name, the user's keys by name. A write that has a session's row locked may wait for
them only if nobody else can want that row, since a lease cannot be renewed meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from newel.sessions.stored.rows import Changes, Key, StateChange
from newel.sessions.stored.statements import SCOPES, SESSION, Scope, Statements
from newel.sessions.stored.steps import Query, Steps


def scopes_of(
    sql: Statements, key: Key, number: int, change: StateChange
) -> Iterator[tuple[Scope, tuple[object, ...], Changes]]:
    """Each scope with its owners and changes, in the order in which they are locked."""
    stored = sql.dialect.stored
    app, user = stored(key.app_name), stored(key.user_id)
    owners: Sequence[tuple[object, ...]] = ((app,), (app, user), (number,))
    for scope, owner, changes in zip(SCOPES, owners, (change.app, change.user, change.session), strict=True):
        yield scope, owner, {name: changes[name] for name in sorted(changes)} if len(changes) > 1 else changes


def change_state(sql: Statements, key: Key, number: int, change: StateChange) -> Steps[None]:
    """Put and remove keys; `number` is the session's."""
    text = sql.dialect.as_text
    for scope, owner, changes in scopes_of(sql, key, number, change):
        if sql.dialect.at_once and len(changes) > 1 and None not in changes.values():
            yield Query(sql.put_all(scope), (*owner, *puts_of(sql, changes)))
            continue
        for name, value in changes.items():
            stored = sql.dialect.stored(name)
            if value is None:
                yield Query(sql.remove(scope), (*owner, stored))
            else:
                yield Query(sql.put(scope), (*owner, stored, value.decode() if text else value))


def put_new(sql: Statements, key: Key, number: int, change: StateChange) -> Steps[None]:
    """Write the state of a new session, and in the shared scopes the keys that do not exist yet."""
    for scope, owner, changes in scopes_of(sql, key, number, change):
        statement = sql.put(scope) if scope is SESSION else sql.put_new(scope)
        for name, value in changes.items():
            if value is not None:
                yield Query(statement, (*owner, sql.dialect.stored(name), _data(sql, value)))


def puts_of(sql: Statements, changes: Changes) -> tuple[list[str | bytes], list[str | bytes]]:
    """The keys to put, and their values."""
    puts = [(sql.dialect.stored(name), _data(sql, value)) for name, value in changes.items() if value is not None]
    return [name for name, _ in puts], [value for _, value in puts]


def _data(sql: Statements, value: bytes) -> str | bytes:
    return value.decode() if sql.dialect.as_text else value
