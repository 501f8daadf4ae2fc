"""Agent files that are written from outside: what they may say, and where they are kept.

A file may name code of the app's own folder and installed tools, and nothing else: no arguments of calls, no executor
of code, no model that reads or writes files, no address that a key would be sent to, no environment variable that the
app does not use already.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from newel.files.agents import check_agent
from newel.files.syntax import AgentFileMissingError, parse
from newel.server.refusals import Refusal
from newel_compose import Composition
from newel_kernel import AgentConfigError

#: The folder of an app in which files wait until they are saved.
_DRAFTS = "tmp"
_MOST_BYTES = 200_000
_SUFFIXES = (".yaml", ".yml")
_NAME = re.compile(r"(?:[A-Za-z0-9_-]{1,64}/){0,4}[A-Za-z0-9_-]{1,64}\.ya?ml")
#: Those of an app, which open stores and plugins.
_APP_FILES = ("app.yaml", "app.yml")
_ROOT = ("root_agent.yaml", "root_agent.yml", "agent.yaml", "agent.yml", *_APP_FILES)
_CALLBACKS = {
    f"{when}_{what}_callback{more}"
    for when in ("before", "after")
    for what in ("agent", "model", "tool")
    for more in ("", "s")
}
_KEYS = frozenset(
    {
        "name", "agent_class", "description", "model", "instruction", "global_instruction", "static_instruction",
        "tools", "sub_agents", "input_schema", "output_schema", "output_key", "include_contents",
        "disallow_transfer_to_parent",
        "disallow_transfer_to_peers", "generate_content_config", "max_iterations", *_CALLBACKS,
    }
)  # fmt: skip
#: Models that read or write the file in their address.
_FILE_MODELS = re.compile(r"\s*(?:record|replay|script)\s*:", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")


class AgentFiles:
    """The agent files in one app's folder, which need not exist yet."""

    def __init__(self, folder: Path, composition: Composition) -> None:
        self._folder = folder
        self._drafts = folder / _DRAFTS / folder.name
        self._composition = composition

    def save(self, files: Mapping[str, bytes], *, as_draft: bool) -> None:
        """Check all files, then store them; saved ones replace each other whole, and end the drafts."""
        named = {self._own(name): data for name, data in files.items()}
        self._check(named, may_miss=as_draft)
        place = self._drafts if as_draft else self._folder
        for name in sorted(named, key=lambda one: one in _ROOT):  # the root agent last: what it names is there
            _write(self._inside(place, name), named[name])
        if not as_draft:
            self.cancel()

    def cancel(self) -> None:
        """Drop the drafts."""
        if any(one.is_symlink() for one in (self._drafts, self._drafts.parent)):
            raise Refusal(400, "the folder of the drafts is a link")
        shutil.rmtree(self._drafts, ignore_errors=True)
        with suppress(OSError):  # others may have files there
            self._drafts.parent.rmdir()

    def read(self, name: str | None, *, draft: bool) -> bytes | None:
        """A file, by default that of the root agent, as it is stored or as a draft; None if there is none."""
        for place in (self._drafts, self._folder) if draft else (self._folder,):
            for one in (name,) if name is not None else _ROOT:
                file = self._readable(place, one)
                if file.is_file():
                    return file.read_bytes()
        return None

    def _readable(self, place: Path, name: str) -> Path:
        file, root = (place / name).resolve(), place.resolve()
        if not file.is_relative_to(root) or file.suffix not in _SUFFIXES:
            raise Refusal(400, "file_path must be a YAML file in the app's folder")
        if any(part.startswith(".") for part in file.relative_to(root).parts):
            raise Refusal(400, "file_path must be a YAML file in the app's folder")
        return file

    def _own(self, name: str) -> str:
        """The name of an uploaded file within the app's folder; the app's own name may stand in front."""
        own = name.removeprefix(f"{self._folder.name}/")
        if not _NAME.fullmatch(own) or own.startswith(f"{_DRAFTS}/"):
            raise Refusal(400, f"{name[:100]!r} is not a YAML file in the app's folder, of letters, digits, - and _")
        if own in _APP_FILES:
            raise Refusal(400, f"{own!r} opens stores and plugins: edit it on the server")
        return own

    def _inside(self, place: Path, name: str) -> Path:
        """The place of a file that is written; a Refusal if a link leads elsewhere."""
        file = place / name
        above = [file, *(one for one in file.parents if one.is_relative_to(self._folder))]
        if any(one.is_symlink() for one in above):
            raise Refusal(400, f"{name!r} cannot be saved: it is, or is in, a link")
        if file.exists() and not file.is_file():
            raise Refusal(400, f"{name!r} cannot be saved: it is a folder")
        return file

    def _check(self, files: Mapping[str, bytes], *, may_miss: bool) -> None:
        """Compile the files in a copy of the folder in which every module of Python is empty."""
        known = self._variables()
        with tempfile.TemporaryDirectory(prefix="newel-builder-") as above:
            copy = Path(above, self._folder.name)
            for file in self._sources():
                _write(copy / file.relative_to(self._folder), b"" if file.suffix == ".py" else file.read_bytes())
            for name, data in files.items():
                _write(copy / name, data)
            for name, data in files.items():
                _check_keys(name, _data(name, data), known)
            for name in files:
                try:
                    check_agent(copy / name, self._composition)
                except AgentFileMissingError as error:
                    if not may_miss:
                        raise Refusal(400, _without(error, above)) from None
                except AgentConfigError as error:
                    raise Refusal(400, _without(error, above)) from None

    def _sources(self) -> Iterator[Path]:
        for file in self._folder.rglob("*"):
            if file.suffix in (".py", *_SUFFIXES) and not file.is_symlink() and file.is_file():
                parts = file.relative_to(self._folder).parts
                if parts[0] != _DRAFTS and not any(part.startswith((".", "__pycache__")) for part in parts):
                    yield file

    def _variables(self) -> frozenset[str]:
        """The environment variables that the app's files use already."""
        texts = [file.read_text("utf-8", "replace") for file in self._sources() if file.suffix != ".py"]
        return frozenset(name for text in texts for name in _VARIABLE.findall(text))


def _data(name: str, data: bytes) -> Mapping[str, object]:
    if len(data) > _MOST_BYTES:
        raise Refusal(413, f"{name!r} is larger than {_MOST_BYTES} bytes")
    try:
        found, _ = parse(data.decode(), Path(name))
    except (AgentConfigError, UnicodeDecodeError) as error:
        raise Refusal(400, f"{name!r} is not YAML: {error}") from None
    if not isinstance(found, dict):
        raise Refusal(400, f"{name!r} must hold the keys of an agent")
    return found


def _check_keys(name: str, data: Mapping[str, object], known: frozenset[str]) -> None:
    """Raise a Refusal for what a file from outside may not say."""
    if unknown := sorted(str(key) for key in data if key not in _KEYS):
        raise Refusal(400, f"{name!r} may not have the key {unknown[0][:100]!r}: edit it on the server")
    model = data.get("model")
    if model is not None and (not isinstance(model, str) or _FILE_MODELS.match(model)):
        raise Refusal(400, f"{name!r}: `model` must be the address of a model that uses no file")
    for key in ("tools", *_CALLBACKS):
        value = data.get(key)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Mapping) and any(isinstance(one, (Mapping, list)) for one in item.values()):
                raise Refusal(400, f"{name!r}: {key} are names here, without arguments")
    for text in _texts(data):
        for variable in _VARIABLE.findall(text):
            if variable not in known:
                raise Refusal(400, f"{name!r} may not use the environment variable {variable[:100]!r}")
    config = data.get("generate_content_config")
    if isinstance(config, Mapping) and {"http_options", "httpOptions"} & set(config):
        raise Refusal(400, f"{name!r} may not say where requests are sent (`http_options`)")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _without(error: Exception, folder: str) -> str:
    """The text of an error, without the place of the copy."""
    return str(error).replace(os.path.realpath(folder), "").replace(folder, "").lstrip("/")


def _write(file: Path, data: bytes) -> None:
    """Store a file whole, or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=".newel-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
