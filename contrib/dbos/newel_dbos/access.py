"""Access: what the URI of an engine says."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from psycopg.pq import Conninfo

from newel_kernel import ConfigurationError

_SCHEMA = "newel_dbos"
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where an engine keeps its runs, and how it watches over them. Times are seconds."""

    #: ``postgresql://…``, with the parameters that libpq reads.
    url: str
    #: The schema of the tables, DBOS's and the engine's.
    schema: str = _SCHEMA
    #: How long a worker may be silent before others resume its runs.
    heartbeat: float = 30.0
    #: How often a worker asks for runs in the queue.
    poll: float = 1.0
    #: How long a run waits for a worker that fits.
    misfit: float = 86400.0
    #: How long a run that has ended is kept.
    keep: float = 30 * 86400.0


#: The parameters of the URI that are the engine's.
_NUMBERS = {field.name: field.default for field in fields(Access) if field.type == "float"}


def access_of(uri: str) -> Access:
    """Read ``dbos://user:password@host:port/database?heartbeat=30&poll=1``; raises ConfigurationError."""
    parts = urlsplit(uri)
    if not parts.path.strip("/"):
        raise ConfigurationError("the URI of an engine names a database: dbos://user@host:5432/DATABASE")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    numbers = {name: _seconds(name, given.pop(name)) for name in _NUMBERS if name in given}
    schema = given.pop("schema", _SCHEMA)
    if not _NAME.fullmatch(schema):
        raise ConfigurationError(f"schema={schema!r} must be a plain lower-case name, such as newel_dbos")
    if unknown := sorted(given.keys() - _of_libpq()):
        known = ", ".join(("schema", *_NUMBERS))
        raise ConfigurationError(
            f"{unknown[0]!r} is not a parameter of DBOS's address: {known}, and those of libpq, such as sslmode"
        )
    url = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(given), ""))
    return Access(url=url, schema=schema, **numbers)


def _of_libpq() -> set[str]:
    """The parameters that the libpq here reads."""
    return {option.keyword.decode() for option in Conninfo.get_defaults()}


def _seconds(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ConfigurationError(f"{name}={text!r} in the URI of the engine must be a number of seconds above 0")
    return number
