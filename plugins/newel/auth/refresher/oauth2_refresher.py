"""The plugin that renews tokens of OAuth2 and OpenID Connect."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pydantic import BaseModel

from newel.auth import refresher
from newel.auth.kinds import CredentialRefresher
from newel.auth.settings import Settings, settings_in
from newel_kernel import hookimpl


def create(settings: Settings) -> refresher.OAuth2CredentialRefresher:
    """Create the refresher; its module is imported at the first token check, Authlib at the first renewal."""
    return refresher.OAuth2CredentialRefresher.for_settings(settings)


@hookimpl
def register_credential_refreshers(settings: Mapping[str, BaseModel]) -> list[CredentialRefresher]:
    """The refreshers of the types `OAUTH2` and `OPEN_ID_CONNECT`."""
    make = partial(create, settings_in(settings))
    return [
        CredentialRefresher(name="oauth2_refresher", create=make),
        CredentialRefresher(name="open_id_connect_refresher", create=make),
    ]
