"""What the errors of a database mean for a session store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from newel.sessions.sqlite.explained import explain
from newel.sessions.stored.pooled import Rejected
from newel.sessions.stored.steps import Trouble
from newel_kernel import ConfigurationError

#: MariaDB's and MySQL's numbers: too many or lost connections, a server that stops, locks, a row that exists already,
#: a server that is read-only during a failover.
_PASSING = {1040, 1053, 1205, 1213, 1062, 1290, 1792, 1836, 1927, 2002, 2003, 2006, 2013, 2014, 2055}
#: PostgreSQL's classes: connections, conflicting transactions, resources, the operator; a lock, an existing row,
#: a standby.
_PASSING_CLASSES = ("08", "25006", "40", "53", "57", "55P03", "23505")
_WRONG = {1044, 1045, 1049, 1142}
_WRONG_CLASSES = ("28", "3D", "42501")


@contextmanager
def explained(store: str) -> Iterator[None]:
    """SQLAlchemy's errors as those of a session store."""
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    try:
        yield
    except DBAPIError as error:
        raise _sorted(error, store) from error
    except (SQLAlchemyError, OSError, TimeoutError) as error:
        raise Trouble(f"{type(error).__name__}: {error}") from error
    except UnicodeEncodeError as error:
        raise Rejected(f"an app name, user id or session id is not valid text: {error}") from error


def _sorted(error: Exception, store: str) -> Exception:
    """The error of a store that `error`, a DBAPIError, stands for."""
    cause: BaseException = getattr(error, "orig", None) or error
    text = f"{type(cause).__name__}: {cause}"
    code = next((one for one in getattr(cause, "args", ()) if isinstance(one, int)), 0)
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None) or ""
    if code in _WRONG or state.startswith(_WRONG_CLASSES):
        return ConfigurationError(
            f"the session store {store} cannot be used ({text}): see the URL, and what its user may do"
        )
    is_lost = getattr(error, "connection_invalidated", False)
    if is_lost or code in _PASSING or state.startswith(_PASSING_CLASSES) or "locked" in text or "busy" in text:
        return Trouble(text)
    if isinstance(cause, (OSError, TimeoutError)):
        return Trouble(text)
    return Rejected(f"the session store {store} refused the operation: {explain(Exception(text))}")
