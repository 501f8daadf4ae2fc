"""The files that code in the sandbox sees: the input files and those it writes, all in memory."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any, Self, TypeVar

from pydantic_monty import MemoryFile, MontyFileHandle, OSAccess

from newel.code_executors.code_execution_utils import CodeExecutionFile, file_bytes

Where = PurePosixPath | MontyFileHandle
Data = TypeVar("Data", str, bytes)


class SandboxFiles(OSAccess):
    """A separate file system under ``/``; the code may write a bounded number of bytes to it."""

    _room: int
    _inputs: dict[int, bytes]

    @classmethod
    def holding(cls, files: Iterable[CodeExecutionFile], most: int) -> Self:
        """A file system with `files` in its root, to which `most` bytes may be written."""
        inputs = [MemoryFile(PurePosixPath("/", PurePosixPath(file.name).name), file_bytes(file)) for file in files]
        system = cls(inputs, environ={})
        system._room = most
        system._inputs = {id(file): file_bytes_of(file) for file in inputs}
        return system

    def path_write_text(self, path: Where, data: str) -> int:
        """See `OSAccess`."""
        return super().path_write_text(path, self._within(data))

    def path_write_bytes(self, path: Where, data: bytes) -> int:
        """See `OSAccess`."""
        return super().path_write_bytes(path, self._within(data))

    def path_append_text(self, path: Where, data: str) -> int:
        """See `OSAccess`."""
        return super().path_append_text(path, self._within(data))

    def path_append_bytes(self, path: Where, data: bytes) -> int:
        """See `OSAccess`."""
        return super().path_append_bytes(path, self._within(data))

    def _within(self, data: Data) -> Data:
        self._room -= len(data.encode()) if isinstance(data, str) else len(data)
        if self._room < 0:
            raise OSError("[Errno 28] No space left on device")
        return data

    def written(self) -> list[CodeExecutionFile]:
        """The files that are new or changed."""
        changed = []
        for file in self.files:
            data = file_bytes_of(file)
            name = "/".join(file.path.parts[1:])
            if not file.deleted and self._inputs.get(id(file)) != data and is_harmless(name):
                kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
                changed.append(CodeExecutionFile(name=name, content=data, mime_type=kind))
        return changed


def file_bytes_of(file: Any) -> bytes:
    """The data of a file in memory."""
    content = file.read_content()
    return content if isinstance(content, bytes) else content.encode()


def is_harmless(name: str) -> bool:
    """Whether code may name an artifact so: it must not climb out, nor reach the user's other sessions."""
    return bool(name) and not name.startswith("user:") and not {".", ".."} & set(name.split("/"))
