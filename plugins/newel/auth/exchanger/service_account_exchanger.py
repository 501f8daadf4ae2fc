"""The plugin that gets tokens for Google service accounts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pydantic import BaseModel

from newel.auth import exchanger
from newel.auth.kinds import CredentialExchanger
from newel.auth.settings import Settings, settings_in
from newel_kernel import hookimpl


def create(settings: Settings) -> exchanger.ServiceAccountCredentialExchanger:
    """Create the exchanger; its module is imported at the first exchange, google-auth at the first token request."""
    return exchanger.ServiceAccountCredentialExchanger.for_settings(settings)


@hookimpl
def register_credential_exchangers(settings: Mapping[str, BaseModel]) -> list[CredentialExchanger]:
    """The exchanger of the type `SERVICE_ACCOUNT`."""
    return [CredentialExchanger(name="service_account_exchanger", create=partial(create, settings_in(settings)))]
