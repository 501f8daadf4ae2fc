"""Where a credential comes from, and in which order (docs/reference/behaviour.md#credentials)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from newel.agents import Context, InvocationContext, LlmAgent
from newel.apps import App
from newel.auth import (
    AuthConfig,
    AuthCredential,
    AuthProviderRegistry,
    BaseAuthProvider,
    CredentialManager,
    CustomAuthScheme,
    HttpAuth,
    HttpCredentials,
    OAuth2Auth,
)
from newel.auth.auth_schemes import APIKey, HTTPBase, HTTPBearer, OAuth2, OAuthFlows
from newel.auth.credential_service import InMemoryCredentialService
from newel.auth.environment import variable_of
from newel.auth.errors import CredentialError
from newel.auth.kinds import AuthProvider
from newel.auth.settings import Settings
from newel.testing import ScriptedModel
from newel.tools import AgentTool, AuthenticatedFunctionTool
from newel.types import FunctionCall
from newel_compose import compose
from newel_kernel import ConfigurationError, RunConfig, Session, hookimpl

CONFIG = AuthConfig(auth_scheme=APIKey(**{"in": "header", "name": "X-Key"}), credential_key="the-key")


def key(text: str) -> AuthCredential:
    return AuthCredential(auth_type="apiKey", api_key=text)


class Vault(BaseAuthProvider):
    supported_auth_schemes = (APIKey,)

    def __init__(self, gives: str | None, asked: list[str] | None = None) -> None:
        self.gives, self.asked = gives, asked if asked is not None else []

    async def get_auth_credential(self, auth_config: Any, context: Any) -> AuthCredential | None:
        self.asked.append(auth_config.credential_key)
        return key(self.gives) if self.gives else None


def context(*providers: BaseAuthProvider, plugins: Any = (), store: Any = None, distribution: str = "standard") -> Any:
    registry = AuthProviderRegistry()
    for provider in providers:
        registry.register(provider)
    app = type("App", (), {"auth_provider_registry": registry})()
    agent = type("Agent", (), {"name": "root"})()
    ctx = InvocationContext(
        None,
        Session(id="s", app_name="app", user_id="ann"),
        agent,
        compose(distribution, plugins=plugins),  # type: ignore[arg-type]
        RunConfig(),
        app=app,
        credential_service=store,
    )
    return Context(ctx, function_call_id="c1")


def found(context: Any, config: AuthConfig = CONFIG) -> Any:
    credential = asyncio.run(CredentialManager(config).get_auth_credential(context))
    return None if credential is None else credential.api_key


def test_a_provider_comes_before_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWEL_CREDENTIAL_THE_KEY", "from-environment")
    config = CONFIG.model_copy(update={"raw_auth_credential": key("from-app")})
    assert found(context(Vault("from-provider")), config) == "from-provider"


def test_a_provider_that_has_nothing_lets_the_next_one_try_then_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    assert found(context(Vault("second", asked), Vault(None, asked))) == "second"
    assert asked == ["the-key"] * 2
    assert found(context(Vault(None))) is None
    monkeypatch.setenv("NEWEL_CREDENTIAL_THE_KEY", "from-environment")
    assert found(context(Vault(None))) == "from-environment"


def test_the_store_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryCredentialService()
    one = context(store=store)
    asyncio.run(one.save_credential(CONFIG.model_copy(update={"exchanged_auth_credential": key("from-store")})))
    monkeypatch.setenv("NEWEL_CREDENTIAL_THE_KEY", "from-environment")
    assert found(context(store=store)) == "from-store"
    asyncio.run(one.save_credential(CONFIG))  # deletes it
    assert found(context(store=store)) == "from-environment"


def test_what_the_environment_holds_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryCredentialService()
    monkeypatch.setenv("NEWEL_CREDENTIAL_THE_KEY", "from-environment")
    one = context(store=store)
    assert found(one) == found(one) == "from-environment"
    assert store._credentials == {}


def test_a_user_s_credential_is_no_other_user_s() -> None:
    store = InMemoryCredentialService()
    one = context(store=store)
    asyncio.run(one.save_credential(CONFIG.model_copy(update={"exchanged_auth_credential": key("ann-s-key")})))
    other = context(store=store)
    other.session.user_id = "bob"
    assert found(other) is None


def test_a_plugin_provides_credentials() -> None:
    class Plugin:
        @hookimpl
        def register_auth_providers(self) -> list[AuthProvider]:
            return [AuthProvider(name="vault", create=lambda: Vault("from-plugin"))]

    assert found(context(plugins=[Plugin()])) == "from-plugin"
    assert found(context(Vault("from-app-registry"), plugins=[Plugin()])) == "from-app-registry"
    bearer = AuthConfig(auth_scheme=HTTPBearer(), credential_key="b")
    assert found(context(plugins=[Plugin()]), bearer) is None


def test_a_provider_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from newel.auth import providers

    monkeypatch.setattr(providers, "shared", AuthProviderRegistry())
    CredentialManager.register_auth_provider(Vault("from-process"))
    assert found(context()) == "from-process"


def test_an_app_brings_its_registry(converse: Any, kit: Any) -> None:
    registry = AuthProviderRegistry()
    registry.register(APIKey, Vault("from-app"))

    def act(credential: AuthCredential) -> dict[str, Any]:
        """Act."""
        return {"ok": credential.api_key == "from-app"}

    talk = converse(
        "adk",
        [AuthenticatedFunctionTool(act, auth_config=CONFIG)],
        app=lambda agent: App(name="demo", agent=agent, auth_provider_registry=registry),  # type: ignore[call-arg]
    )
    assert kit.results(talk.say()) == [{"ok": True}]


def last_result(request: Any) -> Any:
    return request.contents[-1].parts[0].function_response.response


def test_an_agent_as_a_tool_asks_the_app_s_providers(converse: Any, kit: Any) -> None:
    registry, asked = AuthProviderRegistry(), []  # type: ignore[var-annotated]
    registry.register(Vault("from-app", asked))

    def look(credential: AuthCredential) -> str:
        """Look."""
        return "seen" if credential.api_key == "from-app" else "nothing"

    inner = LlmAgent(
        name="act",
        description="Act.",
        tools=[AuthenticatedFunctionTool(look, auth_config=CONFIG)],
        model=ScriptedModel([FunctionCall(name="look", args={}), lambda r: str(last_result(r))]),
    )
    script = [FunctionCall(name="act", args={"request": "x"}), "done"]
    talk = converse(
        "adk",
        [AgentTool(inner)],
        script=script,
        app=lambda agent: App(name="demo", agent=agent, auth_provider_registry=registry),  # type: ignore[call-arg]
    )
    assert kit.results(talk.say()) == [{"result": "{'result': 'seen'}"}]
    assert asked == ["the-key"]


def test_a_provider_that_fails_is_named_without_what_it_says() -> None:
    class Broken(Vault):
        async def get_auth_credential(self, auth_config: Any, context: Any) -> Any:
            raise RuntimeError("no access with password hunter2-secret")

    with pytest.raises(CredentialError, match="Broken failed with RuntimeError for the credential") as caught:
        found(context(Broken(None)))
    assert "hunter2" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_custom_scheme_is_its_provider_s_matter() -> None:
    class Passport(CustomAuthScheme):
        type_: str = "passport"
        country: str

    class Office(Vault):
        supported_auth_schemes = (Passport,)

    config = AuthConfig.model_validate({"authScheme": {"type": "passport", "country": "it"}, "credentialKey": "p"})
    assert isinstance(config.auth_scheme, Passport)
    assert found(context(Office("stamp-of-office")), config) == "stamp-of-office"
    assert config.model_dump(mode="json", by_alias=True)["authScheme"] == {"type": "passport", "country": "it"}


def test_a_provider_can_ask_for_the_user_s_consent(converse: Any, kit: Any) -> None:
    class Broker(Vault):
        async def get_auth_credential(self, auth_config: Any, context: Any) -> Any:
            return AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(auth_uri="https://broker.example/consent"))

    registry = AuthProviderRegistry()
    registry.register(Broker(None))

    def act(credential: AuthCredential) -> dict[str, Any]:
        """Act."""
        return {}

    talk = converse(
        "standard",
        [AuthenticatedFunctionTool(act, auth_config=CONFIG)],
        app=lambda agent: App(name="demo", agent=agent, auth_provider_registry=registry),  # type: ignore[call-arg]
    )
    asked = kit.asked(talk.say())[0].args["authConfig"]
    assert asked["exchangedAuthCredential"]["oauth2"]["authUri"] == "https://broker.example/consent"


# --- the registry -----------------------------------------------------------------------------------------------------


def test_a_registry_finds_by_class_and_by_instance() -> None:
    registry, one, two = AuthProviderRegistry(), Vault("1"), Vault("2")
    registry.register(HTTPBase, one)
    registry.register(HTTPBase, two)
    assert registry.get_provider(HTTPBase) is registry.get_provider(HTTPBase(scheme="basic")) is two
    assert registry.get_providers(HTTPBase) == (two, one)
    assert registry.get_provider(HTTPBearer()) is None


def test_a_provider_without_schemes_needs_one() -> None:
    class Plain(Vault):
        supported_auth_schemes = ()  # type: ignore[assignment]

    registry = AuthProviderRegistry()
    with pytest.raises(ConfigurationError, match="names no scheme: set its supported_auth_schemes"):
        registry.register(Plain("x"))
    with pytest.raises(ConfigurationError, match="is registered for a class of scheme"):
        registry.register(HTTPBearer(), Vault("x"))  # type: ignore[arg-type]


# --- the environment --------------------------------------------------------------------------------------------------


def resolved(config: AuthConfig) -> AuthCredential | None:
    return asyncio.run(CredentialManager(config).get_auth_credential(context()))


@pytest.mark.parametrize(
    ("scheme", "text", "wanted"),
    [
        (HTTPBearer(), "tok-1", {"http": {"scheme": "bearer", "credentials": {"token": "tok-1"}}}),
        (
            HTTPBase(scheme="basic"),
            "ann:pw-1",
            {"http": {"scheme": "basic", "credentials": {"username": "ann", "password": "pw-1"}}},
        ),
        (
            OAuth2(flows=OAuthFlows()),
            "tok-2",
            {"oauth2": {"access_token": "tok-2", "token_endpoint_auth_method": "client_secret_basic"}},
        ),
        (HTTPBearer(), '{"authType": "apiKey", "apiKey": "k-1"}', {"api_key": "k-1"}),
    ],
)
def test_a_variable_is_read_as_the_scheme_wants(
    monkeypatch: pytest.MonkeyPatch, scheme: Any, text: str, wanted: dict[str, Any]
) -> None:
    monkeypatch.setenv("NEWEL_CREDENTIAL_K", text)
    credential = resolved(AuthConfig(auth_scheme=scheme, credential_key="k"))
    assert credential is not None
    assert credential.model_dump(exclude_none=True, exclude={"auth_type"}) == wanted


@pytest.mark.parametrize(("scheme", "text"), [(HTTPBase(scheme="basic"), "pw-secret"), (HTTPBearer(), '{"pw-secret":')])
def test_a_variable_that_cannot_be_read_is_named_without_its_text(
    monkeypatch: pytest.MonkeyPatch, scheme: Any, text: str
) -> None:
    monkeypatch.setenv("NEWEL_CREDENTIAL_K", text)
    with pytest.raises(ConfigurationError, match="the environment variable NEWEL_CREDENTIAL_K") as caught:
        resolved(AuthConfig(auth_scheme=scheme, credential_key="k"))
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_the_operator_may_name_the_variable() -> None:
    assert variable_of(CONFIG, Settings(environment={"the-key": "WEATHER"})) == "WEATHER"
    assert variable_of(CONFIG, Settings()) == "NEWEL_CREDENTIAL_THE_KEY"


# --- what the app brings ----------------------------------------------------------------------------------------------


def test_a_ready_credential_is_used_as_a_copy() -> None:
    raw = AuthCredential(auth_type="http", http=HttpAuth(scheme="bearer", credentials=HttpCredentials(token="t-1")))
    credential = resolved(AuthConfig(auth_scheme=HTTPBearer(), raw_auth_credential=raw))
    assert credential == raw
    assert credential is not raw
