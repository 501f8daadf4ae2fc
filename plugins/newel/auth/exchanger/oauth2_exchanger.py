"""The plugin that gets OAuth2 and OpenID Connect tokens, for authorization codes and for client credentials."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pydantic import BaseModel

from newel.auth import exchanger
from newel.auth.kinds import CredentialExchanger
from newel.auth.settings import Settings, settings_in
from newel_kernel import hookimpl


def create(settings: Settings) -> exchanger.OAuth2CredentialExchanger:
    """Create the exchanger; its module is imported at the first exchange, Authlib at the first token request."""
    return exchanger.OAuth2CredentialExchanger.for_settings(settings)


@hookimpl
def register_credential_exchangers(settings: Mapping[str, BaseModel]) -> list[CredentialExchanger]:
    """The exchangers of the types `OAUTH2` and `OPEN_ID_CONNECT`."""
    make = partial(create, settings_in(settings))
    return [
        CredentialExchanger(name="oauth2_exchanger", create=make),
        CredentialExchanger(name="open_id_connect_exchanger", create=make),
    ]
