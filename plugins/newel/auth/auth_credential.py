"""The public import path of the credentials."""

from newel_kernel.types.auth import (
    ApiKey,
    AuthCredential,
    AuthCredentialTypes,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
    ServiceAccount,
    ServiceAccountCredential,
)

__all__ = [
    "ApiKey",
    "AuthCredential",
    "AuthCredentialTypes",
    "HttpAuth",
    "HttpCredentials",
    "OAuth2Auth",
    "ServiceAccount",
    "ServiceAccountCredential",
]
