"""Whole file: a file that is written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from newel_kernel import ConfigurationError


def write_whole(data: bytes, file: Path, remedy: str) -> None:
    """Write the file whole or not at all; ConfigurationError with the remedy, such as "name another file with -o"."""
    part: Path | None = None
    try:
        target = file.resolve()  # a link stays a link
        if target.exists() and not target.is_file():
            raise ConfigurationError(f"{str(file)!r} is not a file; {remedy}")
        with tempfile.NamedTemporaryFile("wb", dir=target.parent, prefix=".newel-", delete=False) as opened:
            part = Path(opened.name)
            opened.write(data)
        os.chmod(part, target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        part.replace(target)
    except (OSError, RuntimeError, ValueError) as error:
        if part is not None:
            with contextlib.suppress(OSError):
                part.unlink()
        if isinstance(error, ConfigurationError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"{str(file)!r} cannot be written: {reason}; {remedy}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
