"""The plugin of credentials in an encrypted file: ``file:path``, ``file:///absolute/path``, with ``?key=…``."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, unquote

from newel.auth import credential_service
from newel.auth.kinds import CredentialBackend
from newel_kernel import hookimpl
from newel_kernel import ConfigurationError


def open_store(uri: str) -> Any:
    """The store in the file that `uri` names; ``key`` is ``env:VARIABLE``, ``file:/path`` or ``keyring:name``."""
    place, _, query = uri.partition(":")[2].partition("?")
    options = parse_qs(query)
    if place.startswith("//"):
        host, slash, rest = place[2:].partition("/")
        if host not in ("", "localhost") or not slash:
            raise ConfigurationError(f"a credential store is on this host: write file:///absolute/path, not //{host}")
        place = "/" + rest
    if not place or set(options) - {"key"} or len(options.get("key", [])) > 1:
        raise ConfigurationError(
            "the address of a credential file is file:path or file:///absolute/path, with ?key=env:VARIABLE, "
            "?key=file:/path or ?key=keyring:name"
        )
    return credential_service.EncryptedFileCredentialService(unquote(place), options.get("key", [""])[0])


@hookimpl
def register_credential_backends() -> list[CredentialBackend]:
    """The scheme ``file``; cryptography is imported when a store is opened."""
    return [CredentialBackend(name="file", open=open_store)]
