"""The released module of schemes and credentials; the code is in `newel.openapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.openapi.auth_helpers import INTERNAL_AUTH_PREFIX as INTERNAL_AUTH_PREFIX
    from newel.openapi.auth_helpers import OpenIdConfig as OpenIdConfig
    from newel.openapi.auth_helpers import credential_to_param as credential_to_param
    from newel.openapi.auth_helpers import dict_to_auth_scheme as dict_to_auth_scheme
    from newel.openapi.auth_helpers import openid_dict_to_scheme_credential as openid_dict_to_scheme_credential
    from newel.openapi.auth_helpers import openid_url_to_scheme_credential as openid_url_to_scheme_credential
    from newel.openapi.auth_helpers import (
        service_account_dict_to_scheme_credential as service_account_dict_to_scheme_credential,
    )
    from newel.openapi.auth_helpers import service_account_scheme_credential as service_account_scheme_credential
    from newel.openapi.auth_helpers import token_to_scheme_credential as token_to_scheme_credential

_WHERE = {
    "INTERNAL_AUTH_PREFIX": "newel.openapi.auth_helpers",
    "OpenIdConfig": "newel.openapi.auth_helpers",
    "credential_to_param": "newel.openapi.auth_helpers",
    "dict_to_auth_scheme": "newel.openapi.auth_helpers",
    "openid_dict_to_scheme_credential": "newel.openapi.auth_helpers",
    "openid_url_to_scheme_credential": "newel.openapi.auth_helpers",
    "service_account_dict_to_scheme_credential": "newel.openapi.auth_helpers",
    "service_account_scheme_credential": "newel.openapi.auth_helpers",
    "token_to_scheme_credential": "newel.openapi.auth_helpers",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
