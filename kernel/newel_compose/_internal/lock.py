"""The lock: a file that pins a composition, its plugins and versions, orders, settings, stores and choices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TypedDict, TypeVar, cast

from pydantic import BaseModel, ValidationError

from newel_compose._internal.composition import Composition
from newel_compose._internal.uris import without_password
from newel_kernel import ConfigurationError, LockError

LOCK_FILE = "newel.lock"
V = TypeVar("V")


class Lock(TypedDict):
    """The content of a lock file. Values that may hold a secret are digests."""

    distribution: str
    #: Each enabled plugin, with its `distribution` and `version`.
    plugins: dict[str, dict[str, str]]
    #: Each order -> its stages; each lifecycle hook -> the owners of its implementations.
    orders: dict[str, list[str]]
    hooks: dict[str, list[str]]
    #: Plugin -> the digest of what is set; kind of store -> the digest of its URI without its password.
    settings: dict[str, str]
    services: dict[str, str]
    #: The keys `disable`, `replace` and `trust` of the distribution.
    choices: dict[str, list[str]]


class _LockFile(BaseModel, defer_build=True):
    """A lock file, for validation."""

    distribution: str
    plugins: dict[str, dict[str, str]]
    orders: dict[str, list[str]]
    hooks: dict[str, list[str]]
    settings: dict[str, str]
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
        "settings": {
            name: _digest(_set_values(composition, name)) for name in distribution.settings if _is_on(composition, name)
        },
        "services": {kind: _digest(without_password(uri)) for kind, uri in distribution.services.items() if uri},
        "choices": {
            "disable": sorted(distribution.disable),
            "replace": sorted(f"{name}: {plugin}" for name, plugin in distribution.replace.items()),
            "trust": sorted(distribution.trust),
        },
    }


def _is_on(composition: Composition, name: str) -> bool:
    """Whether the settings of a plugin say something here."""
    return name not in composition.distribution.disable and bool(composition.distribution.settings[name])


def _set_values(composition: Composition, name: str) -> object:
    """What the distribution sets of a plugin. Its own secrets (`SecretStr`) are masked: they may be renewed."""
    model = composition.settings.get(name)
    if model is None:
        return composition.distribution.settings[name]
    return model.model_dump(mode="json", exclude_unset=True, fallback=repr, warnings=False)


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
        yield f"the order {name!r}: {_listed(stages)}, locked: {_listed(locked_stages)}"
    for name, owners, locked_owners in _changed(actual["hooks"], locked["hooks"]):
        yield f"the hook {name!r}: {_listed(owners)}, locked: {_listed(locked_owners)}"
    for name, entries, locked_entries in _changed(actual["choices"], locked["choices"]):
        yield f"`{name}`: {_listed(entries)}, locked: {_listed(locked_entries)}"
    for name, _, _ in _changed(actual["settings"], locked["settings"]):
        yield f"the settings of {name!r} are others than the locked ones"
    for name, _, _ in _changed(actual["services"], locked["services"]):
        yield f"the URI of the {name} store is another than the locked one"


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


def _listed(entries: list[str] | None) -> str:
    return ", ".join(entries or ()) or "nothing"
