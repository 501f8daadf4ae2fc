"""Credentials: schemes, requests to the user, providers, and stores that are encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mortise_kernel.lazy import lazy_exports

if TYPE_CHECKING:
    from mortise.auth.answers import seal_answers as seal_answers
    from mortise.auth.answers import take_answers as take_answers
    from mortise.auth.asking import mask_results as mask_results
    from mortise.auth.asking import request_event as request_event
    from mortise.auth.asking import run_again as run_again
    from mortise.auth.auth_handler import AuthHandler as AuthHandler
    from mortise.auth.auth_provider_registry import AuthProviderRegistry as AuthProviderRegistry
    from mortise.auth.base_auth_provider import BaseAuthProvider as BaseAuthProvider
    from mortise.auth.credential_manager import CredentialManager as CredentialManager
    from mortise.auth.toolsets import resolve_toolsets as resolve_toolsets
    from mortise_kernel.types.auth import ApiKey as ApiKey
    from mortise_kernel.types.auth import AuthConfig as AuthConfig
    from mortise_kernel.types.auth import AuthCredential as AuthCredential
    from mortise_kernel.types.auth import AuthCredentialTypes as AuthCredentialTypes
    from mortise_kernel.types.auth import AuthToolArguments as AuthToolArguments
    from mortise_kernel.types.auth import HttpAuth as HttpAuth
    from mortise_kernel.types.auth import HttpCredentials as HttpCredentials
    from mortise_kernel.types.auth import OAuth2Auth as OAuth2Auth
    from mortise_kernel.types.auth import ServiceAccount as ServiceAccount
    from mortise_kernel.types.auth import ServiceAccountCredential as ServiceAccountCredential
    from mortise_kernel.types.auth_schemes import ApiKeyScheme as ApiKeyScheme
    from mortise_kernel.types.auth_schemes import AuthScheme as AuthScheme
    from mortise_kernel.types.auth_schemes import AuthSchemeType as AuthSchemeType
    from mortise_kernel.types.auth_schemes import CustomAuthScheme as CustomAuthScheme
    from mortise_kernel.types.auth_schemes import OpenIdConnectWithConfig as OpenIdConnectWithConfig

_WHERE = {
    "AuthHandler": "mortise.auth.auth_handler",
    "AuthProviderRegistry": "mortise.auth.auth_provider_registry",
    "BaseAuthProvider": "mortise.auth.base_auth_provider",
    "CredentialManager": "mortise.auth.credential_manager",
    **dict.fromkeys(
        ["ApiKey", "AuthConfig", "AuthCredential", "AuthCredentialTypes", "AuthToolArguments", "HttpAuth",
         "HttpCredentials", "OAuth2Auth", "ServiceAccount", "ServiceAccountCredential"],
        "mortise_kernel.types.auth",
    ),
    **dict.fromkeys(
        ["ApiKeyScheme", "AuthScheme", "AuthSchemeType", "CustomAuthScheme", "OpenIdConnectWithConfig"],
        "mortise_kernel.types.auth_schemes",
    ),
    # What the flows do; they are light, and these come with the first request.
    "mask_results": "mortise.auth.asking",
    "request_event": "mortise.auth.asking",
    "resolve_toolsets": "mortise.auth.toolsets",
    "run_again": "mortise.auth.asking",
    "seal_answers": "mortise.auth.answers",
    "take_answers": "mortise.auth.answers",
}  # fmt: skip

__getattr__, __dir__ = lazy_exports(__name__, _WHERE)
