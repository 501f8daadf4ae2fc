"""EncryptedFileCredentialService: credentials in one encrypted file.

The file is one Fernet token (AES-128-CBC with an HMAC) over a JSON object: it shows neither users nor keys. It is
replaced whole, under a lock file that other processes respect, so a reader sees the old state or the new one.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from newel.auth.completion import in_thread
from newel.auth.credential_service.base_credential_service import BaseCredentialService
from newel.auth.credential_service.expiry import is_over
from newel.auth.credential_service.in_memory_credential_service import place_of
from newel.auth.credential_service.key_ring import cipher_of, require_private
from newel.auth.credential_service.renewal import attempt
from newel.auth.errors import CredentialStoreError
from newel.auth.secrecy import remember
from newel.contexts.context import CallbackContext
from newel_kernel import FeatureUnavailableError, Json, seam
from newel_types import AuthConfig, AuthCredential

if TYPE_CHECKING:
    from filelock import BaseFileLock

#: How long a writer waits for another writer, in seconds.
PATIENCE = 30.0


class EncryptedFileCredentialService(BaseCredentialService):
    """Credentials by app, user and credential_key. `key` says where the keys are; see `key_ring`."""

    def __init__(self, path: str | Path, key: str = "") -> None:
        self._path = Path(path).expanduser()
        self._cipher = cipher_of(key)
        self._read()  # a wrong key, or a file that others can read, is reported now

    async def load_credential(
        self, auth_config: AuthConfig, callback_context: CallbackContext
    ) -> AuthCredential | None:
        """The user's credential, or None."""
        entry = (await asyncio.to_thread(self._read)).get(_name(auth_config, callback_context))
        if entry is None:
            return None
        try:
            stored = AuthCredential.model_validate(entry)
        except ValidationError:
            raise CredentialStoreError(
                f"{self._path} holds no AuthCredential under {auth_config.credential_key!r}"
            ) from None
        remember(callback_context, stored)
        return stored

    async def save_credential(self, auth_config: AuthConfig, callback_context: CallbackContext) -> None:
        """Store the exchanged credential; None deletes the stored one."""
        credential = auth_config.exchanged_auth_credential
        entry = credential.model_dump(mode="json", by_alias=True, exclude_none=True) if credential is not None else None
        await in_thread(partial(self._change, _name(auth_config, callback_context), entry))

    @asynccontextmanager
    async def renewal(self, auth_config: AuthConfig, callback_context: CallbackContext) -> AsyncIterator[None]:
        """The sole right to renew the credential, among all processes that share the file.

        Each credential has a lock of its own, which the system takes from a process that dies.
        """
        async with super().renewal(auth_config, callback_context):
            lock = self._renewal_lock(_name(auth_config, callback_context))
            await attempt(partial(_acquired, lock), PATIENCE)
            try:
                yield
            finally:
                lock.release()

    def _renewal_lock(self, name: str) -> BaseFileLock:
        from filelock import FileLock  # noqa: PLC0415 - an optional library

        folder = self._path.with_name(f"{self._path.name}.renewals")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return FileLock(folder / sha256(name.encode()).hexdigest()[:32], timeout=0, mode=0o600, thread_local=False)

    def rotate(self) -> None:
        """Write the file again with the first key; the others are no longer needed for it."""
        with self._locked():
            self._write(self._read())

    def _change(self, name: str, entry: Json | None) -> None:
        with self._locked():
            before = self._read()
            entries = {one: value for one, value in before.items() if one != name and not is_over(value)}
            if entry is not None:
                entries[name] = entry
            if entries != before:
                self._write(entries)

    def _read(self) -> Json:
        from cryptography.fernet import InvalidToken  # noqa: PLC0415 - an optional library

        try:
            require_private(self._path)
            data = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise CredentialStoreError(f"the credentials in {self._path} cannot be read: {error.strerror}") from None
        try:
            entries = json.loads(self._cipher.decrypt(data))
        except (InvalidToken, ValueError):
            entries = None
        if not isinstance(entries, dict):
            raise CredentialStoreError(
                f"the credentials in {self._path} cannot be decrypted: the key is wrong, or the file is damaged; "
                f"give the old key after the new one to rotate keys, or move the file away to start over"
            )
        return entries

    def _write(self, entries: Json) -> None:
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.{seam.new_id()[:8]}.part")
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(self._cipher.encrypt(json.dumps(entries).encode()))
                file.flush()
                os.fsync(file.fileno())
            part.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise CredentialStoreError(f"the credentials cannot be written to {self._path}: {error.strerror}") from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            from filelock import FileLock, Timeout  # noqa: PLC0415 - an optional library
        except ImportError as error:
            raise FeatureUnavailableError("stored credentials need filelock: pip install 'newel[auth]'") from error
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(f"{self._path}.lock", timeout=PATIENCE, mode=0o600, thread_local=False, poll_interval=0.005)
        try:
            lock.acquire()
        except Timeout:
            raise CredentialStoreError(
                f"another writer has held {self._path}.lock for {PATIENCE:g} seconds; is it stuck?"
            ) from None
        try:
            yield
        finally:
            lock.release()


def _acquired(lock: BaseFileLock) -> bool:
    from filelock import Timeout  # noqa: PLC0415 - an optional library

    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    return True


def _name(auth_config: AuthConfig, context: CallbackContext) -> str:
    return json.dumps(place_of(auth_config, context))


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
