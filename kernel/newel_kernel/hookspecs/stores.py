"""Registration hooks of stores and credentials."""

from __future__ import annotations

from collections.abc import Sequence

from newel_kernel.contracts import descriptors as d
from newel_kernel.hookspecs.markers import Settings, hookspec


@hookspec
def register_session_backends(settings: Settings) -> Sequence[d.SessionBackend]:
    """Session stores. Opens a session store from a URI of its scheme.

    >>> def open_store(uri):
    ...     return InMemorySessionService()
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_session_backends(self):
    ...         return [SessionBackend(name="volatile", open=open_store)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("SessionBackend", "volatile").name
    'volatile'
    """
    return ()


@hookspec
def register_artifact_backends(settings: Settings) -> Sequence[d.ArtifactBackend]:
    """Artifact stores. Opens an artifact store from a URI of its scheme.

    >>> def open_artifacts(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_artifact_backends(self):
    ...         return [ArtifactBackend(name="bucket", open=open_artifacts)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("ArtifactBackend", "bucket").name
    'bucket'
    """
    return ()


@hookspec
def register_memory_backends(settings: Settings) -> Sequence[d.MemoryBackend]:
    """Memory services. Opens a memory service from a URI of its scheme.

    >>> def open_memory(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_memory_backends(self):
    ...         return [MemoryBackend(name="elephant", open=open_memory)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("MemoryBackend", "elephant").name
    'elephant'
    """
    return ()


@hookspec
def register_credential_backends(settings: Settings) -> Sequence[d.CredentialBackend]:
    """Credential stores. Opens a credential store from a URI of its scheme.

    >>> def open_vault(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_credential_backends(self):
    ...         return [CredentialBackend(name="vault", open=open_vault)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("CredentialBackend", "vault").name
    'vault'
    """
    return ()


@hookspec
def register_auth_providers(settings: Settings) -> Sequence[d.AuthProvider]:
    """Providers of credentials. Makes a provider that resolves credentials of one kind of auth scheme.

    >>> def secret_manager():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_auth_providers(self):
    ...         return [AuthProvider(name="secrets", create=secret_manager)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.find("AuthProvider", "secrets").name
    'secrets'
    """
    return ()
