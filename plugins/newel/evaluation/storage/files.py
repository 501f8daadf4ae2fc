"""Files of evaluation: written whole or not at all, read with errors that name the place."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from newel_kernel import ConfigurationError, seam

M = TypeVar("M", bound=BaseModel)
#: The most problems that an error lists.
_MOST = 5
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


def write_whole(path: Path, text: str) -> None:
    """Write `text`; it is durable before it replaces the old file."""
    write_pieces(path, [text.encode()])


def write_pieces(path: Path, pieces: Iterable[bytes]) -> None:
    """Write `pieces` one after the other, so that a file need not fit into memory."""
    part = path.with_name(f"{path.name}.{seam.new_id()[:8]}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def remove_parts(path: Path) -> None:
    """Remove the half-written files of `path` that a killed process left behind."""
    for part in path.parent.glob(f"{escape(path.name)}.*.part"):
        part.unlink(missing_ok=True)


def json_bytes(value: object) -> bytes:
    """JSON as UTF-8; half a surrogate pair, which a model may write, stays an escape."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def plain_bytes(value: object) -> bytes:
    """JSON as UTF-8 for every reader: half a surrogate pair, which many refuse, becomes U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _HALF_A_PAIR.sub("\ufffd", text).encode()


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file; a ConfigurationError if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}") from None


def read_text(path: str | Path) -> str:
    """The text of a file; a ConfigurationError if it cannot be read."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(f"{path}:{line}: the file is not UTF-8 text; save it as UTF-8") from None


def read_model(model: type[M], text: str, source: str) -> M:
    """The model of a JSON text; a ConfigurationError says which field of `source` is wrong."""
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise ConfigurationError(f"{source} is not a valid {model.__name__}: {problems_of(error)}") from None


def problems_of(error: ValidationError) -> str:
    """The problems of a validation in one line, each with its place."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(str(step) for step in e['loc']) or 'the file'}: {e['msg']}" for e in problems[:_MOST]]
    more = len(problems) - _MOST
    return "; ".join([*lines, *([f"and {more} more"] if more > 0 else [])])
