"""URIs of services: the file that they name, and how messages show them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from urllib.parse import unquote

from newel_kernel import ConfigurationError

#: A database in memory, which has no file.
_MEMORY = ":memory:"
#: A password between the user and the host: it may itself hold any character, such as @ or a slash.
_PASSWORD = re.compile(r"(//[^:/@?#]*:).*@")
_PARAMETER = re.compile(r"([?&][^=&]*(?:passw|pwd|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


def without_password(uri: str) -> str:
    """`uri` with the passwords in it masked, in parameters too: for an error or a log."""
    return _PARAMETER.sub(r"\1***", _PASSWORD.sub(r"\1***@", uri))


def sqlite_path(path: str | os.PathLike[str], service: str, schemes: Collection[str] = ("sqlite",)) -> str:
    """The absolute path of a `service`'s SQLite file; ``:memory:`` stays.

    Takes a path, ``sqlite:path``, ``sqlite:///relative`` or ``sqlite:////absolute``.
    """
    text = os.fspath(path)
    masked = without_password(text)
    scheme, colon, rest = text.partition(":")
    if colon and scheme in schemes:
        if "?" in rest:
            raise ConfigurationError(f"{masked!r}: a sqlite URI takes no parameters; name only the file")
        text = unquote(rest)
        if text.startswith("//"):
            host, slash, text = text[2:].partition("/")
            if host or not slash:
                raise ConfigurationError(
                    f"{masked!r} names no file: write sqlite:///relative.db, sqlite:////absolute.db or sqlite:path"
                )
    if not text or "\0" in text:
        raise ConfigurationError(f"{masked!r} names no file for the {service}")
    return text if text == _MEMORY else os.path.abspath(os.path.expanduser(text))
