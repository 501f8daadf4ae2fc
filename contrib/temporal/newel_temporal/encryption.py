"""Encryption: what Temporal keeps of runs can be read only with a key of theirs."""

from __future__ import annotations

from collections.abc import Sequence

from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec

from newel_kernel import ConfigurationError

_ENCODING = b"binary/newel-fernet"


class Encryption(PayloadCodec):
    """Encrypts payloads by the first of the Fernet keys, and decrypts by any, so that keys can be changed.

    Its submitters, workers and readers need the same keys. It needs `newel-temporal[encryption]`.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        try:
            from cryptography.fernet import Fernet, InvalidToken, MultiFernet  # noqa: PLC0415 - an optional library
        except ImportError as error:
            raise ConfigurationError("encryption needs: pip install 'newel-temporal[encryption]'") from error
        self._invalid = InvalidToken
        try:
            self._keys = MultiFernet([Fernet(key.strip()) for key in keys])
        except ValueError:  # the text may quote a key
            raise ConfigurationError(
                "a key of Temporal's payloads is what Fernet.generate_key() makes, 32 random bytes in URL-safe base64; "
                "several are separated by commas, the newest first"
            ) from None

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """See `PayloadCodec`."""
        return [
            Payload(metadata={"encoding": _ENCODING}, data=self._keys.encrypt(payload.SerializeToString()))
            for payload in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """See `PayloadCodec`; what was written without encryption is read unchanged."""
        return [self._decoded(payload) for payload in payloads]

    def _decoded(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != _ENCODING:
            return payload
        try:
            return Payload.FromString(self._keys.decrypt(payload.data))
        except self._invalid:
            raise ConfigurationError("a run in Temporal was encrypted with another key than those given here") from None
