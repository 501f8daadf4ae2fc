"""The tables next to DBOS's own: runs, workers, and the queues that somebody works."""

from __future__ import annotations

from dbos import DBOS
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from newel_dbos.access import Access
from newel_kernel import ConfigurationError

#: Processes take turns to make the tables.
_LOCK = 0x6E6577646273
_STATEMENTS = (
    f"SELECT pg_advisory_xact_lock({_LOCK:d})",
    "CREATE SCHEMA IF NOT EXISTS {0}",
    # `stretch` counts how often the run was handed out: each has a workflow of DBOS of its own. What belongs to an
    # earlier one writes nothing.
    """CREATE TABLE IF NOT EXISTS {0}.newel_runs (
        number bigint GENERATED ALWAYS AS IDENTITY, key text PRIMARY KEY, app_name text NOT NULL, queue text NOT NULL,
        spec text NOT NULL, state text NOT NULL DEFAULT 'queued', stretch integer NOT NULL DEFAULT 1,
        attempts integer NOT NULL DEFAULT 0, failures integer NOT NULL DEFAULT 0,
        crashes integer NOT NULL DEFAULT 0,
        executor text NOT NULL DEFAULT '', worker text NOT NULL DEFAULT '', reason text NOT NULL DEFAULT '',
        outcome text, cancelled boolean NOT NULL DEFAULT false, signalled boolean NOT NULL DEFAULT false,
        submitted timestamptz NOT NULL DEFAULT now(), waits timestamptz NOT NULL DEFAULT now(),
        due timestamptz, deadline timestamptz, started timestamptz, ended timestamptz)""",
    # Runs of a session take turns: one with `line` is not in DBOS's queue, and waits for another one of its session.
    "ALTER TABLE {0}.newel_runs ADD COLUMN IF NOT EXISTS session text NOT NULL DEFAULT ''",
    "ALTER TABLE {0}.newel_runs ADD COLUMN IF NOT EXISTS line boolean NOT NULL DEFAULT false",
    """CREATE TABLE IF NOT EXISTS {0}.newel_workers (
        executor text PRIMARY KEY, lapses timestamptz NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS {0}.newel_queues (
        queue text PRIMARY KEY, lapses timestamptz NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS newel_runs_number ON {0}.newel_runs (number)",
    "CREATE INDEX IF NOT EXISTS newel_runs_executor ON {0}.newel_runs (executor) WHERE state = 'running'",
    "CREATE INDEX IF NOT EXISTS newel_runs_waits ON {0}.newel_runs (waits) WHERE state = 'queued'",
    "CREATE INDEX IF NOT EXISTS newel_runs_due ON {0}.newel_runs (due) WHERE state = 'queued' AND due IS NOT NULL",
    """CREATE INDEX IF NOT EXISTS newel_runs_deadline ON {0}.newel_runs (deadline)
        WHERE state IN ('queued', 'paused') AND deadline IS NOT NULL""",
    """CREATE INDEX IF NOT EXISTS newel_runs_cancelled ON {0}.newel_runs (number)
        WHERE state IN ('queued', 'paused') AND cancelled""",
    "CREATE INDEX IF NOT EXISTS newel_runs_ended ON {0}.newel_runs (ended) WHERE ended IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS newel_runs_runs ON {0}.newel_runs (session) WHERE state = 'running'",
    "CREATE INDEX IF NOT EXISTS newel_runs_turn ON {0}.newel_runs (session, number) WHERE state = 'queued'",
    # `looks`: when a paused run may have an answer that nobody spoke of.
    "ALTER TABLE {0}.newel_runs ADD COLUMN IF NOT EXISTS looks timestamptz",
    """CREATE INDEX IF NOT EXISTS newel_runs_looks ON {0}.newel_runs (looks)
        WHERE state = 'paused' AND looks IS NOT NULL""",
    # As in the spec, whose JSON PostgreSQL does not read: it refuses a NUL in it. NULL: an earlier version's row.
    "ALTER TABLE {0}.newel_runs ADD COLUMN IF NOT EXISTS tenant text",
    "ALTER TABLE {0}.newel_runs ADD COLUMN IF NOT EXISTS priority integer",
    # When a worker may try again to close what a cancelled or late run has open, and how often that was put off.
    "ALTER TABLE {0}.newel_runs ADD COLUMN IF NOT EXISTS closings integer NOT NULL DEFAULT 0",
    "ALTER TABLE {0}.newel_runs ADD COLUMN IF NOT EXISTS closes timestamptz",
)
#: The newest column: tables that have it are of this version.
_NEWEST = "closes"


def prepare(access: Access, engine: Engine) -> None:
    """Make the tables of DBOS and of the engine, or bring them to this version; raises ConfigurationError."""
    _check_database(engine)
    DBOS.migrate(access.url, schema=access.schema)
    with engine.begin() as connection:
        found = connection.exec_driver_sql(
            "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = %s",
            (f"{access.schema}.newel_runs", _NEWEST),
        )
        if found.scalar() is None:
            for statement in _STATEMENTS:
                connection.exec_driver_sql(statement.format(access.schema))


def _check_database(engine: Engine) -> None:
    """DBOS would create a database that is not there: a wrong name would be a place in which no worker looks."""
    try:
        engine.connect().close()
    except OperationalError as error:
        name = engine.url.database
        if f'database "{name}" does not exist' not in str(error.orig):
            raise
        raise ConfigurationError(
            f"there is no database {name!r} for the engine: create it (createdb {name}), or correct its address"
        ) from None
