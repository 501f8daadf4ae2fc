"""The keys of stored credentials: from a variable of the environment, a file of mode 0600, or the system's keyring.

Several keys (one a line, or separated by blanks or commas) are a rotation: the first encrypts, all of them decrypt.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from newel.auth.errors import CredentialStoreError
from newel_kernel import FeatureUnavailableError

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

#: Not a name that `newel.auth.environment` could take for a credential's.
VARIABLE = "NEWEL_CREDENTIALS_KEY"
_SERVICE = "newel"
_MAKE = 'python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"'


def cipher_of(source: str) -> MultiFernet:
    """The MultiFernet of a source: ``env:VARIABLE``, ``file:/path`` or ``keyring:name``; empty: the variable, if it is
    set, else the keyring. A file and a keyring get a new key if they have none.
    """
    try:
        from cryptography.fernet import Fernet, MultiFernet  # noqa: PLC0415 - an optional library
    except ImportError as error:
        raise FeatureUnavailableError("stored credentials need cryptography: pip install 'newel[auth]'") from error
    if not source:
        source = f"env:{VARIABLE}" if os.environ.get(VARIABLE) else "keyring:credentials"
    kind, colon, name = source.partition(":")
    reader = _READERS.get(kind)
    if not colon or not name:
        raise CredentialStoreError("key is env:VARIABLE, file:/path or keyring:name, not the key itself")
    if reader is None:
        raise CredentialStoreError(f"{kind!r} is not a source of keys: write env:VARIABLE, file:/path or keyring:name")
    keys = reader(name, lambda: Fernet.generate_key().decode()).replace(",", " ").split()
    try:
        ciphers = [Fernet(key) for key in keys]
    except ValueError:
        ciphers = []  # its text would quote the key
    if not ciphers or len(ciphers) < len(keys):
        raise CredentialStoreError(f"{kind}:{name} holds no key that can be used; make one with: {_MAKE}")
    return MultiFernet(ciphers)


def _from_environment(name: str, make: Callable[[], str]) -> str:
    text = os.environ.get(name, "")
    if not text.strip():
        raise CredentialStoreError(f"the environment variable {name} holds no key; make one with: {_MAKE}")
    return text


def _from_file(name: str, make: Callable[[], str]) -> str:
    path = Path(name).expanduser()
    if not path.exists():
        _make_file(path, make())
    require_private(path)
    return path.read_text(encoding="utf-8")


def _make_file(path: Path, key: str) -> None:
    """Write a key file of mode 0600, whole or not at all; a file that another process has made meanwhile stays."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(key + "\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(part, path)
    except OSError as error:
        raise CredentialStoreError(f"the key file {path} cannot be created: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)


def _from_keyring(name: str, make: Callable[[], str]) -> str:
    problem = ""
    try:
        import keyring  # noqa: PLC0415 - an optional library
    except ImportError as error:
        raise FeatureUnavailableError("a key in the keyring needs keyring: pip install 'newel[auth]'") from error
    try:
        text = keyring.get_password(_SERVICE, name)
        if not text:
            keyring.set_password(_SERVICE, name, make())
            text = keyring.get_password(_SERVICE, name)
        return text or ""
    except Exception as error:  # noqa: BLE001 - the keyring's backends may raise anything
        problem = type(error).__name__
    raise CredentialStoreError(
        f"the system's keyring cannot be used ({problem}): set {VARIABLE}, or give ?key=file:/path in the address "
        f"of the credential store"
    )


_READERS: dict[str, Callable[[str, Callable[[], str]], str]] = {
    "env": _from_environment,
    "file": _from_file,
    "keyring": _from_keyring,
}


def require_private(path: Path) -> None:
    """Raise if others than the owner may read or write the file."""
    mode = path.stat().st_mode & 0o777
    if os.name == "posix" and mode & 0o077:
        raise CredentialStoreError(
            f"{path} has the mode {mode:04o}, so that others can use what is in it: chmod 600 {path}, and replace what "
            f"they may have read"
        )
