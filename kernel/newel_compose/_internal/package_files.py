"""Package files: what the metadata of installed packages say. Whatever they are, reading them ends and raises nothing.

importlib's own readers raise on bytes that are not UTF-8, and wait for ever on a pipe, so that one foreign package
would stop every program.
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
from collections.abc import Iterator
from importlib.metadata import Distribution
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from newel_kernel import plain

_log = logging.getLogger("newel.plugins")
#: The package that this module is a part of.
OWN_PACKAGE = "newel"
#: The folder that this module's package lies in.
_HOME = Path(__file__).resolve().parents[2]
#: The most bytes of a file that are read, and the most entry points of a package.
_BYTES = 1 << 20
_POINTS = 1000
#: The most characters of a name or a version.
_NAME = 200
_FOLDER = re.compile(r"(.+?)(?:-([^-]+))?\.(?:dist|egg)-info")
#: The files that were reported, and the packages.
_reported: set[str] = set()


class Entry(NamedTuple):
    """An entry point as its file has it."""

    group: str
    name: str
    target: str


def read(package: Distribution, name: str) -> str:
    """The text of a file of a package's metadata. Bytes that are not UTF-8 are replaced; a missing file is empty.

    So is one that cannot be read, which is reported once, with what to do.
    """
    folder = getattr(package, "_path", None)  # what importlib's own finder gives has one
    if isinstance(folder, Path):
        return _text_of(folder / name)
    try:
        return package.read_text(name) or ""
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "replace")
    except Exception as error:  # noqa: BLE001 - another package's finder
        report(f"{name} of a package in an archive", f"it cannot be read ({type(error).__name__})")
        return ""


def _text_of(path: Path) -> str:
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        report(str(path), error.strerror or type(error).__name__)
        return ""
    if not _is_regular(file, path):
        os.close(file)
        return ""
    with os.fdopen(file, "rb") as stream:
        data = stream.read(_BYTES + 1)
    if len(data) > _BYTES and path.name == "entry_points.txt":
        report(str(path), f"it is larger than {_BYTES >> 20} MiB")
        return ""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        report(str(path), "it is not UTF-8 text, but UTF-16 or no text")
        return ""
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _is_regular(file: int, path: Path) -> bool:
    """Whether an open file is one that ends. Others are reported; a folder in place of a file counts as missing."""
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        report(str(path), "it is not a file")
    return stat.S_ISREG(mode)


def report(what: str, why: str) -> None:
    """Log once per process that a file counts as missing."""
    if what not in _reported:
        _reported.add(what)
        _log.warning("newel: %s is skipped: %s; reinstall or uninstall that package", plain(what, 400), why)


def is_own(package: Distribution) -> bool:
    """Whether this module came with the package: its files lie there, or it is installed as editable from there."""
    folder = getattr(package, "_path", None)
    if not isinstance(folder, Path):
        return False
    if folder.parent.resolve() == _HOME:
        return True
    try:
        place = urlsplit(json.loads(read(package, "direct_url.json") or "{}").get("url", ""))
        path = unquote(place.path).lstrip("/" if os.name == "nt" else "")
        return place.scheme == "file" and _HOME.is_relative_to(Path(path).resolve())
    except (AttributeError, OSError, TypeError, ValueError):  # whatever the file is
        return False


def is_same(package: Distribution, other: Distribution) -> bool:
    """Whether both are read from one place."""
    folder = getattr(package, "_path", None)
    return package is other or (folder is not None and folder == getattr(other, "_path", None))


def headers(package: Distribution) -> list[str]:
    """The lines of a package's headers; the description after them is not read."""
    text = read(package, "METADATA") or read(package, "PKG-INFO")
    return text.partition("\n\n")[0].splitlines()


def identity(package: Distribution) -> tuple[str, str]:
    """Name and version: of the headers, else of the folder's name. `package.metadata` would parse the description."""
    found = dict(line.split(": ", 1) for line in headers(package) if ": " in line)
    folder = getattr(package, "_path", None)
    match = _FOLDER.fullmatch(folder.name) if isinstance(folder, Path) else None
    name = found.get("Name") or (match[1] if match else "?")
    version = found.get("Version") or ((match[2] if match else "") or "")
    return plain(name, _NAME), plain(version, _NAME)


def entries(package: Distribution, text: str) -> list[Entry]:
    """The entry points of a package; none if there are too many to be meant."""
    found = list(parsed(text))
    if len(found) > _POINTS:
        report(f"the file of entry points of {identity(package)[0]}", f"it has more than {_POINTS} of them")
        return []
    return found


def parsed(text: str) -> Iterator[Entry]:
    """The entry points of a file. A line without ``=`` has no target, and fails to load."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif line and not line.startswith("#"):
            name, _, target = map(str.strip, line.partition("="))
            yield Entry(group, plain(name, _NAME), target)
