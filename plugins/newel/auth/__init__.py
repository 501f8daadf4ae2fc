"""Credentials: schemes, requests to the user, providers, and stores that are encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from newel_types import lazy_exports

if TYPE_CHECKING:
    from newel.auth.answers import hand_over_answers as hand_over_answers
    from newel.auth.answers import seal_answers as seal_answers
    from newel.auth.answers import take_answers as take_answers
    from newel.auth.auth_handler import AuthHandler as AuthHandler
    from newel.auth.auth_provider_registry import AuthProviderRegistry as AuthProviderRegistry
    from newel.auth.base_auth_provider import BaseAuthProvider as BaseAuthProvider
    from newel.auth.credential_manager import CredentialManager as CredentialManager
    from newel.auth.credential_requests import mask_results as mask_results
    from newel.auth.credential_requests import request_event as request_event
    from newel.auth.credential_requests import request_event_now as request_event_now
    from newel.auth.credential_requests import run_again as run_again
    from newel.auth.toolsets import resolve_toolsets as resolve_toolsets
    from newel_types import ApiKey as ApiKey
    from newel_types import ApiKeyScheme as ApiKeyScheme
    from newel_types import AuthConfig as AuthConfig
    from newel_types import AuthCredential as AuthCredential
    from newel_types import AuthCredentialTypes as AuthCredentialTypes
    from newel_types import AuthScheme as AuthScheme
    from newel_types import AuthSchemeType as AuthSchemeType
    from newel_types import AuthToolArguments as AuthToolArguments
    from newel_types import CustomAuthScheme as CustomAuthScheme
    from newel_types import HttpAuth as HttpAuth
    from newel_types import HttpCredentials as HttpCredentials
    from newel_types import OAuth2Auth as OAuth2Auth
    from newel_types import OpenIdConnectWithConfig as OpenIdConnectWithConfig
    from newel_types import ServiceAccount as ServiceAccount
    from newel_types import ServiceAccountCredential as ServiceAccountCredential

_WHERE = {
    "AuthHandler": "newel.auth.auth_handler",
    "AuthProviderRegistry": "newel.auth.auth_provider_registry",
    "BaseAuthProvider": "newel.auth.base_auth_provider",
    "CredentialManager": "newel.auth.credential_manager",
    **dict.fromkeys(
        [
            "ApiKey",
            "AuthConfig",
            "AuthCredential",
            "AuthCredentialTypes",
            "AuthToolArguments",
            "HttpAuth",
            "HttpCredentials",
            "OAuth2Auth",
            "ServiceAccount",
            "ServiceAccountCredential",
        ],
        "newel_types",
    ),
    **dict.fromkeys(
        ["ApiKeyScheme", "AuthScheme", "AuthSchemeType", "CustomAuthScheme", "OpenIdConnectWithConfig"],
        "newel_types",
    ),
    # Called by the flows, which are light: these modules are imported with the first request.
    "mask_results": "newel.auth.credential_requests",
    "request_event": "newel.auth.credential_requests",
    "request_event_now": "newel.auth.credential_requests",
    "resolve_toolsets": "newel.auth.toolsets",
    "run_again": "newel.auth.credential_requests",
    "hand_over_answers": "newel.auth.answers",
    "seal_answers": "newel.auth.answers",
    "take_answers": "newel.auth.answers",
}

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
