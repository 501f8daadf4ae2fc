"""LocalEvalSetResultsManager: results as files next to their agents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from os import SEEK_END
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from pydantic_core import PydanticSerializationError

from newel.errors.not_found_error import NotFoundError
from newel.evaluation.results.eval_result import EvalCaseResult, EvalSetResult
from newel.evaluation.storage.eval_set_results_manager import (
    EvalSetResultsManager,
    PendingResults,
    create_eval_set_result,
)
from newel.evaluation.storage.eval_sets_manager import check_app
from newel.evaluation.storage.files import plain_bytes, read_model, read_text, write_pieces
from newel_kernel import ConfigurationError

SUFFIX = ".evalset_result.json"
#: Below an app's folder.
HISTORY = Path(".adk") / "eval_history"


def read_result(path: Path) -> EvalSetResult:
    """The result in a file."""
    return result_of(read_text(path), str(path))


def result_of(text: str, where: str) -> EvalSetResult:
    """The result in a text; older writers put the JSON into a JSON string."""
    if text.lstrip().startswith('"'):
        text = json.loads(text)
    return read_model(EvalSetResult, text, where)


def result_bytes(result: EvalCaseResult) -> bytes:
    """The JSON of a result."""
    try:
        return result.model_dump_json().encode()
    except PydanticSerializationError:  # half a surrogate pair, which a model may write
        return plain_bytes(result.model_dump(mode="json"))


def write_result(path: Path, head: EvalSetResult, rows: Iterable[bytes]) -> None:
    """Write the file of a set: `head`, and the results of its cases, one by one."""
    write_pieces(path, result_pieces(head, rows))


def result_pieces(head: EvalSetResult, rows: Iterable[bytes]) -> Iterator[bytes]:
    """The JSON of a set's result, piece by piece."""
    first = head.model_dump(include={"eval_set_result_id", "eval_set_result_name", "eval_set_id"})
    yield plain_bytes(first)[:-1] + b', "eval_case_results": ['
    for number, row in enumerate(rows):
        yield (b",\n" if number else b"\n") + row
    yield b'\n], "creation_timestamp": ' + plain_bytes(head.creation_timestamp) + b"}\n"


class Spool(PendingResults):
    """Results that wait on disk: only the place of each is kept in memory."""

    def __init__(self, folder: Path, write: Callable[[Iterable[bytes]], None]) -> None:
        self._folder, self._write = folder, write
        self._places: dict[int, tuple[int, int]] = {}
        self._file: IO[bytes] | None = None
        self._failure: OSError | ValueError | None = None

    def add(self, number: int, result: EvalCaseResult) -> None:
        """Put a result away. A full disk, or a value that is not JSON, is reported by `save`."""
        try:
            row = result_bytes(result)
            if self._file is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._file = TemporaryFile(dir=self._folder)  # noqa: SIM115 - `close` closes it
            place = self._file.seek(0, SEEK_END), len(row)
            self._file.write(row)
        except (OSError, ValueError) as error:
            self._failure = self._failure or error
        else:
            self._places[number] = place

    def save(self) -> None:
        """Write the file; a ConfigurationError if the results could not be put away."""
        if self._failure is not None:
            reason = getattr(self._failure, "strerror", None) or self._failure
            raise ConfigurationError(f"results cannot be written to {self._folder}: {reason}") from self._failure
        self._write(self._rows())

    def close(self) -> None:
        """Drop the file. `save` reports what could not be written."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def _rows(self) -> Iterator[bytes]:
        for _, (offset, length) in sorted(self._places.items()):
            assert self._file is not None
            self._file.seek(offset)
            yield self._file.read(length)


class LocalEvalSetResultsManager(EvalSetResultsManager):
    """Results in ``<agents_dir>/<app>/.adk/eval_history/<app>_<set>_<time>.evalset_result.json``."""

    def __init__(self, agents_dir: str | Path) -> None:
        self._folder = Path(agents_dir)

    def save_eval_set_result(self, app_name: str, eval_set_id: str, eval_case_results: list[EvalCaseResult]) -> None:
        """Write the file."""
        self._write(app_name, eval_set_id, (result_bytes(one) for one in eval_case_results))

    def pending(self, app_name: str, eval_set_id: str) -> PendingResults:
        """Results that wait in an unnamed file, in the folder where they will be stored."""
        return Spool(self.history(app_name), partial(self._write, app_name, eval_set_id))

    def _write(self, app_name: str, eval_set_id: str, rows: Iterable[bytes]) -> None:
        result = create_eval_set_result(app_name, eval_set_id, [])
        write_result(self.history(app_name) / f"{result.eval_set_result_name}{SUFFIX}", result, rows)

    def get_eval_set_result(self, app_name: str, eval_set_result_id: str) -> EvalSetResult:
        """A result by its name."""
        path = self.history(app_name) / f"{eval_set_result_id}{SUFFIX}"
        if Path(eval_set_result_id).name != eval_set_result_id or not path.is_file():
            raise NotFoundError(f"the app {app_name!r} has no eval set result {eval_set_result_id!r}")
        return read_result(path)

    def list_eval_set_results(self, app_name: str) -> list[str]:
        """The names, sorted; none if nothing was stored yet."""
        return sorted(path.name.removesuffix(SUFFIX) for path in self.history(app_name).glob(f"*{SUFFIX}"))

    def history(self, app_name: str) -> Path:
        """The folder of an app's results."""
        check_app(app_name)
        return self._folder / app_name / HISTORY
