"""The lock: a file that pins a composition, its plugins and versions, orders, settings, stores and choices."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypedDict, TypeVar, cast

from pydantic import BaseModel, ValidationError

from newel_compose._internal import discovery
from newel_compose._internal.composition import Composition
from newel_compose._internal.setting_sources import setting_source
from newel_compose._internal.uris import without_password
from newel_kernel import ConfigurationError, LockError

LOCK_FILE = "newel.lock"
V = TypeVar("V")
#: The suffixes of files that decide what a plugin does. Others it may write itself.
_CODE = {".py", ".so", ".pyd", ".yaml", ".yml"}


class Lock(TypedDict):
    """The content of a lock file. Values that may hold a secret are digests."""

    distribution: str
    #: Each enabled plugin, with its `distribution` and `version`.
    plugins: dict[str, dict[str, str]]
    #: Each order -> its stages; each lifecycle hook -> the owners of its implementations.
    orders: dict[str, list[str]]
    hooks: dict[str, list[str]]
    #: Module, of the top level, that has plugins which take part -> the digest of its files.
    files: dict[str, str]
    #: Hook of each kind -> its name, and its order if it has one.
    kinds: dict[str, str]
    #: Plugin -> the digest of each value that is set; kind of store -> the digest of its URI without its password.
    settings: dict[str, dict[str, str]]
    services: dict[str, str]
    #: The keys `disable`, `replace` and `trust` of the distribution.
    choices: dict[str, list[str]]


class _LockFile(BaseModel, defer_build=True):
    """A lock file, for validation."""

    distribution: str
    plugins: dict[str, dict[str, str]]
    orders: dict[str, list[str]]
    hooks: dict[str, list[str]]
    files: dict[str, str]
    kinds: dict[str, str]
    settings: dict[str, dict[str, str]]
    services: dict[str, str]
    choices: dict[str, list[str]]


def lock_of(composition: Composition) -> Lock:
    """The lock that pins `composition`."""
    distribution = composition.distribution
    return {
        "distribution": distribution.name,
        "plugins": {
            record.name: {"distribution": record.distribution, "version": record.version}
            for record in composition.plugins
            if record.state == "enabled"
        },
        "orders": {
            order: [f"{one.stage.name} of {one.plugin}" for one in placed]
            for order, placed in composition.placed.items()
            if placed
        },
        "hooks": {
            hook: [bound.owner.removeprefix("plugin ") for bound in (*usual, *fallbacks)]
            for hook, (usual, fallbacks) in composition.hooks.items()
        },
        "files": _files_of(composition),
        "kinds": composition.registry.kind_names(),
        "settings": {
            name: {key: _digest(value) for key, value in _set_values(composition, name).items()}
            for name in distribution.settings
            if _is_on(composition, name)
        },
        "services": {kind: _digest(without_password(uri)) for kind, uri in distribution.services.items() if uri},
        "choices": {
            "disable": sorted(distribution.disable),
            "replace": sorted(f"{name}: {plugin}" for name, plugin in distribution.replace.items()),
            "trust": sorted(distribution.trust),
        },
    }


def _files_of(composition: Composition) -> dict[str, str]:
    """The digests of the modules that have plugins which take part."""
    enabled = {record.name for record in composition.plugins if record.state == "enabled"}
    targets = [point.target for name, point in discovery.installed(discovery.scan()).items() if name in enabled]
    modules = sorted({target.partition(":")[0].partition(".")[0].strip() for target in targets})
    return {name: digest for name in modules if (digest := _digest_of(name))}


@cache
def _digest_of(name: str) -> str:
    """The digest of the code of a module of the top level; of a package, of all its files of code."""
    module = sys.modules.get(name)
    folders = [Path(folder) for folder in getattr(module, "__path__", ())]
    found = [(path.relative_to(folder).as_posix(), path) for folder in folders for path in sorted(folder.rglob("*"))]
    if not folders and isinstance(file := getattr(module, "__file__", None), str):
        found = [(Path(file).name, Path(file))]
    total = sha256()
    for shown, path in found:
        if path.suffix in _CODE and path.is_file():
            total.update(f"{shown}\0{path.stat().st_size}\0".encode())
            total.update(path.read_bytes())
    return f"sha256:{total.hexdigest()}" if found else ""


def _is_on(composition: Composition, name: str) -> bool:
    """Whether the settings of a plugin say something here."""
    return name not in composition.distribution.disable and bool(composition.distribution.settings[name])


def _set_values(composition: Composition, name: str) -> dict[str, object]:
    """What the distribution sets of a plugin. Its own secrets (`SecretStr`) are masked: they may be renewed.

    So may a value that stands in the environment or in a file: its place counts, and not the value.
    """
    distribution, model = composition.distribution, composition.settings.get(name)
    written: dict[str, object] = dict(distribution.settings[name])
    if model is None:
        return written
    values = model.model_dump(mode="json", exclude_unset=True, fallback=repr, warnings=False)
    return {**values, **{key: written[key] for key in written if setting_source(distribution, name, key)[1]}}


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def write_lock(composition: Composition, path: Path) -> None:
    """Write the lock file of `composition`, whole or not at all."""
    text = json.dumps(lock_of(composition), indent=2, sort_keys=True) + "\n"
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ConfigurationError(f"{path} cannot be written: {error.strerror or error}; remove it") from None


def lock_changes(composition: Composition, path: Path) -> list[str]:
    """What differs between a lock file and `composition`, as the lines of a diff; empty if nothing does."""
    before, after = _lines(_read_lock(path)), _lines(lock_of(composition))
    return list(unified_diff(before, after, path.name, "installed", lineterm="", n=0))


def _lines(lock: Lock) -> list[str]:
    """A lock as lines ``key.key: value``, which say in a diff what they are about."""

    def flat(value: object, at: str) -> Iterator[str]:
        if isinstance(value, dict):
            for key in sorted(value):
                yield from flat(value[key], f"{at}.{key}" if at else key)
        elif isinstance(value, list):
            yield f"{at}: {', '.join(map(str, value))}"
        else:
            yield f"{at}: {value}"

    return list(flat(lock, ""))


def check_lock(composition: Composition, path: Path) -> None:
    """Raise a LockError that lists every difference between `composition` and the lock file."""
    locked, actual = _read_lock(path), lock_of(composition)
    if problems := list(_differences(actual, locked)):
        raise LockError([*problems, f"install what {path} says, or run `newel lock` to accept the change"])


def _differences(actual: Lock, locked: Lock) -> Iterator[str]:
    if locked["distribution"] != actual["distribution"]:
        yield f"the distribution is {actual['distribution']!r}, locked: {locked['distribution']!r}"
    for name, now, was in _changed(actual["plugins"], locked["plugins"]):
        yield f"plugin {name!r}: {_text(now)}, locked: {_text(was)}"
    for name, stages, locked_stages in _changed(actual["orders"], locked["orders"]):
        yield f"the order {name!r}: {_moved(stages, locked_stages)}"
    for name, owners, locked_owners in _changed(actual["hooks"], locked["hooks"]):
        yield f"the hook {name!r}: {_moved(owners, locked_owners)}"
    for name, entries, locked_entries in _changed(actual["choices"], locked["choices"]):
        yield f"`{name}`: {_listed(entries)}, locked: {_listed(locked_entries)}"
    for name in _changed_files(actual, locked):
        yield f"the files of {name!r} are others than the locked ones"
    for name, kind, locked_kind in _changed(actual["kinds"], locked["kinds"]):
        yield f"the kind of {name!r}: {kind or 'nothing'}, locked: {locked_kind or 'nothing'}"
    for name, now_set, was_set in _changed(actual["settings"], locked["settings"]):
        keys = ", ".join(key for key, _, _ in _changed(now_set or {}, was_set or {}))
        yield f"the settings of {name!r} are others than the locked ones: {keys}"
    for name, _, _ in _changed(actual["services"], locked["services"]):
        yield f"the URI of the {name} store is another than the locked one"


def _changed_files(actual: Lock, locked: Lock) -> list[str]:
    """Of plugins that are there and locked; of the others it is told that they came or went."""
    return [name for name, now, was in _changed(actual["files"], locked["files"]) if now and was]


def _changed(actual: Mapping[str, V], locked: Mapping[str, V]) -> Iterator[tuple[str, V | None, V | None]]:
    """The names whose values differ, with both."""
    for name in sorted(actual.keys() | locked.keys()):
        if (now := actual.get(name)) != (was := locked.get(name)):
            yield name, now, was


def _read_lock(path: Path) -> Lock:
    try:
        return cast("Lock", _LockFile.model_validate_json(path.read_bytes()).model_dump())
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, problem["loc"]))
        why = f"{where}: {problem['msg']}" if where else problem["msg"]
    except OSError as error:
        raise LockError(f"{path} cannot be read: {error.strerror or error}; remove it") from None
    raise LockError(f"{path} is not a lock file ({why}); write it again with `newel lock`")


def _text(entry: Mapping[str, str] | None) -> str:
    return "absent" if entry is None else f"{entry.get('distribution')} {entry.get('version')}"


def _moved(now: list[str] | None, was: list[str] | None) -> str:
    """What came and went; of a list with the same entries, both orders."""
    came, went = _missing(now, was), _missing(was, now)
    if not (came or went):
        return f"{_listed(now)}, locked: {_listed(was)}"
    return "; ".join([*(f"more than locked: {one}" for one in came), *(f"locked, and not here: {one}" for one in went)])


def _missing(entries: list[str] | None, others: list[str] | None) -> list[str]:
    return [one for one in entries or () if one not in (others or ())]


def _listed(entries: list[str] | None) -> str:
    return ", ".join(entries or ()) or "nothing"
