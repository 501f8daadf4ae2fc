"""One order for all auth providers: the app's, the process's, those of plugins; each is asked once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from newel.auth import AuthConfig, AuthCredential, AuthProviderRegistry, BaseAuthProvider, CredentialManager, providers
from newel.auth.auth_schemes import APIKey
from newel.auth.kinds import AuthProvider
from newel.contexts.context import Context
from newel.contexts.invocation_context import InvocationContext
from newel.contexts.run_config import RunConfig
from newel_compose import compose
from newel_kernel import BaseAgent, ConfigurationError, Session, hookimpl

KEY = AuthConfig(auth_scheme=APIKey(**{"in": "header", "name": "X-Key"}), credential_key="the-key")


class Vault(BaseAuthProvider):
    """Notes that it was asked; gives a key, or nothing."""

    supported_auth_schemes = (APIKey,)

    def __init__(self, name: str, asked: list[str], key: str | None = None) -> None:
        self.name, self.asked, self.key = name, asked, key

    async def get_auth_credential(self, auth_config: AuthConfig, context: Context) -> AuthCredential | None:
        self.asked.append(self.name)
        return AuthCredential(auth_type="apiKey", api_key=self.key) if self.key else None


class Plugin:
    """Provides what its functions create."""

    def __init__(self, **create: Callable[[], BaseAuthProvider]) -> None:
        self.create = create

    @hookimpl
    def register_auth_providers(self) -> list[AuthProvider]:
        return [AuthProvider(name=name, create=create) for name, create in self.create.items()]


def context(plugin: Plugin, *of_app: BaseAuthProvider) -> Context:
    registry = AuthProviderRegistry()
    for provider in of_app:
        registry.register(provider)
    session, app = Session(id="s", app_name="app", user_id="ann"), SimpleNamespace(auth_provider_registry=registry)
    composition = compose("adk", plugins=[plugin])
    ctx = InvocationContext(None, session, BaseAgent(name="root"), composition, RunConfig(), app=app)  # type: ignore[arg-type]
    return Context(ctx, function_call_id="c1")


def ask(at: Context) -> AuthCredential | None:
    return asyncio.run(CredentialManager(KEY).get_auth_credential(at))


@pytest.fixture(autouse=True)
def own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(providers, "shared", AuthProviderRegistry())


def test_all_are_asked_in_one_order_each_once() -> None:
    asked: list[str] = []
    everywhere, first, second = (Vault(name, asked) for name in ("everywhere", "first", "second"))
    CredentialManager.register_auth_provider(Vault("process", asked))
    CredentialManager.register_auth_provider(everywhere)
    plugin = Plugin(first=lambda: first, everywhere=lambda: everywhere, second=lambda: second)
    assert ask(context(plugin, Vault("app", asked), everywhere)) is None
    assert asked == ["everywhere", "app", "process", "first", "second"]


def test_the_plugins_ones_are_made_when_nobody_before_them_has_the_credential_and_once() -> None:
    made: list[Vault] = []

    def create() -> Vault:
        made.append(Vault("plugin", [], "key-of-plugin"))
        return made[-1]

    assert ask(context(Plugin(vault=create), Vault("app", [], "key-of-app"))) is not None
    assert made == []
    at = context(Plugin(vault=create))
    for _ in range(2):
        credential = ask(at)
        assert credential is not None
        assert credential.api_key == "key-of-plugin"
    assert len(made) == 1


def test_one_of_a_plugin_that_names_no_scheme_is_an_error_that_says_what_to_do() -> None:
    class Plain(Vault):
        supported_auth_schemes = ()  # type: ignore[assignment]

    with pytest.raises(ConfigurationError, match=r"Plain object at .* names no scheme: set its supported_auth_schemes"):
        ask(context(Plugin(plain=lambda: Plain("plain", []))))
