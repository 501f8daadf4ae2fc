"""Key store: API keys by the names of their variables, in the system's keyring or a file that only the user reads."""

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import Protocol

from newel.cli.key_file import path
from newel_kernel import ConfigurationError

_SERVICE = "newel"
_IN_KEYRING = None


class Keyring(Protocol):
    """The module `keyring`."""

    def set_password(self, service: str, name: str, value: str) -> None:
        """Keep a password."""

    def get_password(self, service: str, name: str) -> str | None:
        """The password, if there is one."""


def save(name: str, key: str, *, in_file: bool = False) -> str:
    """Keep a key; return where, in words."""
    stored = _stored()
    keyring = None if in_file else _keyring()
    if keyring is not None:
        try:
            keyring.set_password(_SERVICE, name, key)
        except Exception as error:  # noqa: BLE001 - the system's keyring may raise anything
            raise ConfigurationError(
                f"the keyring did not accept the key ({type(error).__name__}); --file keeps it in {path()}"
            ) from None
        stored[name] = _IN_KEYRING
        _write(stored)
        return "the system's keyring"
    stored[name] = key
    _write(stored)
    return f"{path()} (mode 0600)"


def problem() -> str:
    """What is wrong with the file of the keys, with the remedy; empty if it can be used."""
    try:
        _stored()
    except ConfigurationError as error:
        return str(error)
    return ""


def load() -> str:
    """Put the keys into the environment, if their variables are not set; return what is wrong with their file."""
    if wrong := problem():
        return wrong
    missing = {name: key for name, key in _stored().items() if not os.environ.get(name)}
    keyring = _keyring() if None in missing.values() else None
    for name, key in missing.items():
        if key is _IN_KEYRING and keyring is not None:
            try:
                key = keyring.get_password(_SERVICE, name)
            except Exception as error:  # noqa: BLE001 - the system's keyring may raise anything
                return f"the keyring did not give {name} ({type(error).__name__}); unlock it, or set the variable"
        if key:
            os.environ[name] = key
    return ""


def names() -> dict[str, str]:
    """The names of the kept keys, each with its place."""
    return {name: "keyring" if key is _IN_KEYRING else str(path()) for name, key in _stored().items()}


def _stored() -> dict[str, str | None]:
    file = path()
    try:
        if not file.exists():
            return {}
        if os.name == "posix" and file.stat().st_mode & 0o077:
            raise ConfigurationError(f"{file} can be read by others: chmod 600 {file}")
        value = json.loads(file.read_text(encoding="utf-8"))
    except ConfigurationError:  # a ValueError, too
        raise
    except OSError as error:
        raise ConfigurationError(f"{file} cannot be read: {error.strerror or error}; mend or delete it") from None
    except (ValueError, RecursionError):
        raise ConfigurationError(f"{file} is not JSON; delete it and set the keys again") from None
    if not isinstance(value, dict) or not all(map(_is_entry, value.items())):
        raise ConfigurationError(f"{file} holds no keys; delete it and set them again")
    return value


def _is_entry(entry: tuple[str, object]) -> bool:
    """Whether the environment can hold the name and the key."""
    name, key = entry
    return bool(name) and "=" not in name and (key is _IN_KEYRING or (isinstance(key, str) and "\0" not in name + key))


def _write(keys: dict[str, str | None]) -> None:
    file = path()
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
        json.dump(keys, stream, indent=1)
    new.replace(file)


def _keyring() -> Keyring | None:
    """The keyring, if it is installed and the system has one."""
    try:
        keyring = import_module("keyring")
        backend = keyring.get_keyring()
    except Exception:  # noqa: BLE001 - no library, or a system without one
        return None
    usable = getattr(backend, "priority", 0) > 0
    return keyring if usable else None
