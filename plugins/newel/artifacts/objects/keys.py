"""Keys: where artifacts are in a bucket.

``<prefix><app>/<user>/[session-<id>/]artifact/<name>/<number>`` is the record of a version: its metadata, and the key
of its data under ``.../data/``. Numbers count down from the top, so that a listing begins with the latest version.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote

from newel.artifacts.stored_part import named

_TOP = 10**12 - 1
#: A key has at most 1,024 bytes; after the owner's part, this many are left for a name.
_MOST_NAME = 480
_PLAIN, _HASHED = "=", "~"
ARTIFACTS, DATA, SESSION = "artifact/", "data/", "session-"


class Owner(NamedTuple):
    """The owner of artifacts: the session, or the user if `session_id` is None."""

    app_name: str
    user_id: str
    session_id: str | None

    def folder(self, prefix: str) -> str:
        """The folder of the owner's artifacts, with a trailing slash."""
        user = f"{prefix}{named(self.app_name)}/{named(self.user_id)}/"
        return user if self.session_id is None else f"{user}{SESSION}{named(self.session_id)}/"


def segment_of(filename: str) -> str:
    """A name as a part of a key: the quoted name if it is short, else a shorter, unique one."""
    quoted = quote(filename, safe=" ()+,")
    return _PLAIN + quoted if len(quoted) <= _MOST_NAME else _HASHED + named(filename)


def filename_of(segment: str) -> str | None:
    """The name that a part of a key was made from; None if only the record holds the name."""
    return unquote(segment[1:]) if segment.startswith(_PLAIN) else None


def number_key(version: int) -> str:
    """The last part of a record's key."""
    return f"{_TOP - version:012d}"


def version_of(key: str) -> int | None:
    """The version whose record has this key; None if it is not a record's key."""
    number = key.rpartition("/")[2]
    return _TOP - int(number) if len(number) == 12 and number.isascii() and number.isdigit() else None
