"""Layout: the tables of google-adk's releases, and the queries on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from newel.sessions.stored.schema import google_adk
from newel_adk.sessions.sources import Reader, Source
from newel_kernel import ConfigurationError

#: The columns that an event has in schema v0, by what they hold; earlier releases have fewer.
JSON_COLUMNS = (
    "content",
    "grounding_metadata",
    "custom_metadata",
    "usage_metadata",
    "citation_metadata",
    "input_transcription",
    "output_transcription",
    "long_running_tool_ids_json",
)
PLAIN_COLUMNS = ("author", "branch", "partial", "turn_complete", "error_code", "error_message", "interrupted")
_KNOWN_VERSION = "1"
#: How rows of the same time are ordered. MySQL keeps no order but that of its primary key.
_ROW_ORDER = {"sqlite": "rowid", "postgresql": "ctid", "mysql": "id"}
_PAGE = 200
#: How the names of the fields begin that hold a call, a result, or the call that a sub-agent has taken up.
_SIGNS = ("function", "isolation")


@dataclass(frozen=True, slots=True)
class Choice:
    """Selects sessions; None selects all."""

    app: str | None = None
    user: str | None = None
    session: str | None = None

    def where(self, session: str = "id") -> str:
        """The SQL condition; `session` is the column of the session's id."""
        columns = (("app_name", "app", self.app), ("user_id", "user", self.user), (session, "session", self.session))
        parts = [f"{column} = :{name}" for column, name, value in columns if value is not None]
        return " AND ".join(parts) or "1 = 1"

    def values(self) -> dict[str, object]:
        """The condition's values."""
        values = {"app": self.app, "user": self.user, "session": self.session}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Layout:
    """The tables of one database."""

    #: The releases of google-adk that make it.
    release: str
    dialect: str
    #: The columns of the events that follow id, invocation id and time.
    columns: tuple[str, ...]
    pickled: bool

    def events(self, *, with_calls: bool = False) -> str:
        """Selects a session's events in order, by :app, :user and :session; `with_calls`: those that `Calls` needs."""
        content = self._text("content" if self.pickled else "event_data")
        signs = [f"{content} LIKE '%\"{sign}%'" for sign in _SIGNS]
        calls = f"AND ({' OR '.join(signs)})" if with_calls else ""
        as_text = (*JSON_COLUMNS, "event_data")
        columns = ", ".join(self._text(name) if name in as_text else name for name in self.columns)
        return (
            f"SELECT id, invocation_id, timestamp, {columns} FROM events WHERE app_name = :app AND user_id = :user "
            f"AND session_id = :session {calls} ORDER BY timestamp, {_ROW_ORDER[self.dialect]}"
        )

    def sessions(self, choice: Choice, *, after: bool) -> str:
        """Selects a page of sessions: app, user, id, state and time; `after`: only those after :a, :u and :i."""
        # A name that is not UTF-8 arrives as bytes; the cast compares it as text.
        a, u, i = (f"CAST(:{name} AS TEXT)" if self.dialect == "sqlite" else f":{name}" for name in "aui")
        next_page = f"(app_name > {a} OR (app_name = {a} AND (user_id > {u} OR (user_id = {u} AND id > {i}))))"
        where = f"{choice.where()} AND {next_page}" if after else choice.where()
        return (
            f"SELECT app_name, user_id, id, {self._text('state')}, create_time FROM sessions WHERE {where} "
            f"ORDER BY app_name, user_id, id LIMIT {_PAGE}"
        )

    def shared(self, of_user: bool, choice: Choice) -> str:
        """Selects the states of apps or users: app, user, state, and whether a session shares it."""
        table, user = ("user_states", "user_id") if of_user else ("app_states", "''")
        same = " AND sessions.user_id = t.user_id" if of_user else ""
        where = (Choice(choice.app, choice.user) if of_user else Choice(choice.app)).where()
        has = f"EXISTS (SELECT 1 FROM sessions WHERE sessions.app_name = t.app_name{same})"
        return f"SELECT app_name, {user}, {self._text('state')}, {has} FROM {table} AS t WHERE {where}"

    def orphans(self, choice: Choice) -> str:
        """Selects the events whose session does not exist: app, user, session and id."""
        same = "s.app_name = e.app_name AND s.user_id = e.user_id AND s.id = e.session_id"
        return (
            f"SELECT app_name, user_id, session_id, id FROM events AS e WHERE {choice.where('session_id')} "
            f"AND NOT EXISTS (SELECT 1 FROM sessions AS s WHERE {same})"
        )

    def _text(self, column: str) -> str:
        return f"CAST({column} AS TEXT)" if self.dialect == "postgresql" else column


async def layout_of(source: Source) -> Layout:
    """The layout of a database; raises ConfigurationError if it is not one that google-adk makes."""
    async with source.reader() as reader:
        columns = await _columns(source, reader)
        release = google_adk(columns)
        if release is None:
            tables = ", ".join(sorted(columns)[:8]) or "none"
            raise ConfigurationError(
                f"the database {source.label} is not one of google-adk's (tables: {tables}): nothing was imported"
            )
        if "adk_internal_metadata" in columns:
            await _check_version(source, reader)
    if pickled := "event_data" not in columns["events"]:
        names = (*JSON_COLUMNS, *PLAIN_COLUMNS, "actions")
        return Layout(release, source.dialect, tuple(name for name in names if name in columns["events"]), pickled)
    return Layout(release, source.dialect, ("event_data",), pickled)


async def _columns(source: Source, reader: Reader) -> Mapping[str, Sequence[str]]:
    if source.dialect == "sqlite":
        query = (
            "SELECT m.name, p.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS p WHERE m.type = 'table'"
        )
    else:
        here = "current_schema()" if source.dialect == "postgresql" else "DATABASE()"
        query = f"SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = {here}"
    columns: dict[str, list[str]] = {}
    async for rows in reader.rows(query, {}):
        for table, column in rows:
            columns.setdefault(str(table), []).append(str(column))
    return columns


async def _check_version(source: Source, reader: Reader) -> None:
    async for rows in reader.rows("SELECT * FROM adk_internal_metadata", {}):
        for name, value in rows:
            if name == "schema_version" and value != _KNOWN_VERSION:
                raise ConfigurationError(
                    f"the database {source.label} has google-adk's schema version {value}, this newel knows "
                    f"{_KNOWN_VERSION}: upgrade newel; nothing was imported"
                )
