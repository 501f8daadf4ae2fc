"""Stash keys: the values that `newel.auth` keeps in the stash of an invocation. None of them is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_kernel import Key

if TYPE_CHECKING:
    from newel.auth.errors import CredentialExchangeError
    from newel_kernel import ConfigurationError, FeatureUnavailableError
    from newel_types import AuthCredential

#: Id of a request's call -> the credential in the user's message.
ANSWERS: Key[dict[str | None, AuthCredential]] = Key("answers", dict)
#: Credential key -> the answer that could not be exchanged when it came.
UNEXCHANGED: Key[dict[str, AuthCredential]] = Key("unexchanged answers", dict)
#: Credential key -> why the exchange failed, for the tool.
FAILURES: Key[dict[str, ConfigurationError | CredentialExchangeError | FeatureUnavailableError]] = Key("failures", dict)
#: Credential key -> the consent that an auth provider wants from the user.
CONSENTS: Key[dict[str | None, AuthCredential]] = Key("consents", dict)
#: The credential keys whose credentials are in the credential service.
STORED: Key[set[str]] = Key("stored credentials", set)
