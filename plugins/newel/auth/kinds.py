"""The kinds of `newel.auth`: stores, providers, exchangers and refreshers of credentials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeVar, cast, overload

from newel_compose import Backend, Factory
from newel_kernel import Chains, ConfigurationError, Descriptor, Key, Settings, Stage, hookspec

if TYPE_CHECKING:
    from newel.auth.base_auth_provider import BaseAuthProvider
    from newel.auth.credential_service.base_credential_service import BaseCredentialService  # noqa: F401 - likewise
    from newel.auth.exchanger.base_credential_exchanger import BaseCredentialExchanger
    from newel.auth.refresher.base_credential_refresher import BaseCredentialRefresher
    from newel_types import AuthCredentialTypes

T = TypeVar("T")

#: By kind and name.
_INSTANCES = Key[dict[tuple[type, str], object]]("providers, exchangers and refreshers")


class CredentialBackend(Backend["BaseCredentialService"]):
    """Opens a credential store from a URI of the scheme `name`."""

    service: ClassVar[str] = "credential"


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker(Factory, Generic[T]):
    """The base of kinds whose `create` is called once for each composition."""

    create: Callable[[], T]

    def instance(self, chains: Chains) -> T:
        """The object from `create`, which is called once for each composition."""
        return _made(chains, self, self.create)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthProvider(Stage):
    """`create` gives a provider of credentials for its `supported_auth_schemes`. The order says who is asked first."""

    create: Callable[[], BaseAuthProvider]
    description: str = ""

    def instance(self, chains: Chains) -> BaseAuthProvider:
        """The provider from `create`, which is called once for each composition."""
        return _made(chains, self, self.create)


def _made(chains: Chains, item: Descriptor, create: Callable[[], T]) -> T:
    instances = chains.stash.setdefault(_INSTANCES, {})
    key = (type(item), item.name)
    if key not in instances:
        instances[key] = create()
    return cast("T", instances[key])


class CredentialExchanger(Maker["BaseCredentialExchanger"]):
    """`create` gives the exchanger of one type of credential.

    `name` says which type: ``api_key_exchanger``, ``http_exchanger``, ``oauth2_exchanger``,
    ``open_id_connect_exchanger`` or ``service_account_exchanger``.
    """


class CredentialRefresher(Maker["BaseCredentialRefresher"]):
    """`create` gives the refresher of one type of credential; `name` says which: ``oauth2_refresher``, and so on."""


@overload
def exchanger_of(
    chains: Chains, credential_type: AuthCredentialTypes, *, required: Literal[True]
) -> BaseCredentialExchanger: ...
@overload
def exchanger_of(
    chains: Chains, credential_type: AuthCredentialTypes, *, required: bool = False
) -> BaseCredentialExchanger | None: ...
def exchanger_of(
    chains: Chains, credential_type: AuthCredentialTypes, *, required: bool = False
) -> BaseCredentialExchanger | None:
    """The exchanger of a type, or None; if one is `required`, a ConfigurationError says why there is none."""
    return _instance(chains, CredentialExchanger, "exchanger", credential_type, required)


def refresher_of(
    chains: Chains, credential_type: AuthCredentialTypes, *, required: bool = False
) -> BaseCredentialRefresher | None:
    """The refresher of a type, or None; if one is `required`, a ConfigurationError says why there is none."""
    return _instance(chains, CredentialRefresher, "refresher", credential_type, required)


def _instance(
    chains: Chains, kind: type[Maker[T]], role: str, credential_type: AuthCredentialTypes, required: bool
) -> T | None:
    name = f"{credential_type.name.lower()}_{role}"
    for maker in chains.registry.all(kind):
        if maker.name == name:
            return maker.instance(chains)
    if required:
        raise ConfigurationError(
            f"a credential of the type {credential_type.value} needs the credential {role} {name!r}, which no enabled "
            f"plugin provides{chains.registry.why_missing(kind)}"
        )
    return None


@hookspec
def register_credential_backends(settings: Settings) -> Sequence[CredentialBackend]:
    """Credential stores. Opens a credential store from a URI of its scheme.

    >>> def open_vault(uri):
    ...     raise NotImplementedError(uri)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_credential_backends(self):
    ...         return [CredentialBackend(name="vault", open=open_vault)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(CredentialBackend, "vault").name
    'vault'
    """
    return ()


@hookspec
def register_auth_providers(settings: Settings) -> Sequence[AuthProvider]:
    """Providers of credentials. Makes a provider that resolves credentials of one kind of auth scheme.

    >>> def secret_manager():
    ...     raise NotImplementedError
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_auth_providers(self):
    ...         return [AuthProvider(name="secrets", create=secret_manager)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> composed.registry.find(AuthProvider, "secrets").name
    'secrets'
    """
    return ()


@hookspec
def register_credential_exchangers(settings: Settings) -> Sequence[CredentialExchanger]:
    """Exchangers of credentials. Makes an exchanger: it turns a credential of one type into one that a tool can use.

    The SDK is imported in `create`, never in the plugin.

    >>> from newel.auth.exchanger import BaseCredentialExchanger, ExchangeResult
    >>> class Badges(BaseCredentialExchanger):
    ...     async def exchange(self, auth_credential, auth_scheme=None):
    ...         return ExchangeResult(auth_credential, False)
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_credential_exchangers(self):
    ...         return [CredentialExchanger(name="api_key_exchanger", create=Badges)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> type(composed.registry.find(CredentialExchanger, "api_key_exchanger").create()).__name__
    'Badges'
    """
    return ()


@hookspec
def register_credential_refreshers(settings: Settings) -> Sequence[CredentialRefresher]:
    """Refreshers of credentials. Makes a refresher: it renews credentials of one type before they expire.

    The SDK is imported in `create`, never in the plugin.

    >>> from newel.auth.refresher import BaseCredentialRefresher
    >>> class Rotation(BaseCredentialRefresher):
    ...     async def is_refresh_needed(self, auth_credential, auth_scheme=None):
    ...         return False
    ...     async def refresh(self, auth_credential, auth_scheme=None):
    ...         return auth_credential
    >>> class Plugin:
    ...     @hookimpl
    ...     def register_credential_refreshers(self):
    ...         return [CredentialRefresher(name="api_key_refresher", create=Rotation)]
    >>> composed = compose("adk", plugins=[Plugin()])
    >>> type(composed.registry.find(CredentialRefresher, "api_key_refresher").create()).__name__
    'Rotation'
    """
    return ()
