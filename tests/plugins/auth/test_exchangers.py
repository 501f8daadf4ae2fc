"""Exchangers and refreshers are plugins: a stranger's, replaced ones, two for one type, disabled ones."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from newel.agents import Context, InvocationContext
from newel.auth import AuthConfig, AuthCredential, CredentialManager, HttpAuth, HttpCredentials, OAuth2Auth
from newel.auth.auth_schemes import APIKey, AuthScheme, HTTPBearer
from newel.auth.credential_service import InMemoryCredentialService
from newel.auth.exchanger import BaseCredentialExchanger, ExchangeResult, OAuth2CredentialExchanger
from newel.auth.kinds import CredentialExchanger, CredentialRefresher, exchanger_of, refresher_of
from newel.auth.refresher import BaseCredentialRefresher, OAuth2CredentialRefresher
from newel.tools import AuthenticatedFunctionTool, ToolContext
from newel_compose import Composition, compose
from newel_kernel import (
    BaseAgent,
    CompositionError,
    ConfigurationError,
    RunConfig,
    Session,
    hookimpl,
    seam,
)
from newel_types import AuthCredentialTypes, ServiceAccount

KEY = AuthConfig(auth_scheme=APIKey(**{"in": "header", "name": "X-Key"}), credential_key="the-key")


def context(composition: Composition, store: InMemoryCredentialService | None = None) -> Context:
    session = Session(id="s", app_name="app", user_id="ann")
    ctx = InvocationContext(
        None,
        session,
        BaseAgent(name="root"),
        composition,
        RunConfig(),
        credential_service=store,  # type: ignore[arg-type]
    )
    return Context(ctx, function_call_id="c1")


def credential_of(config: AuthConfig, at: Context) -> AuthCredential | None:
    return asyncio.run(CredentialManager(config).get_auth_credential(at))


def bearer(token: str) -> AuthCredential:
    http = HttpAuth(scheme="bearer", credentials=HttpCredentials(token=token))
    return AuthCredential(auth_type="http", http=http)


class BadgeOffice(BaseCredentialExchanger):
    """Gives a badge for an API key."""

    async def exchange(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> ExchangeResult:
        return ExchangeResult(bearer(f"badge-for-{auth_credential.api_key}"), True)


class Patient(BaseCredentialRefresher):
    """Renews without anybody's server."""

    async def is_refresh_needed(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> bool:
        return auth_credential.oauth2 is not None and auth_credential.oauth2.access_token == "old"

    async def refresh(self, auth_credential: AuthCredential, auth_scheme: AuthScheme | None = None) -> AuthCredential:
        assert auth_credential.oauth2 is not None
        renewed = auth_credential.oauth2.model_copy(update={"access_token": "patient", "expires_at": None})
        return auth_credential.model_copy(update={"oauth2": renewed})


class Stranger:
    """A plugin with an exchanger and refreshers of these names."""

    def __init__(self, name: str, exchangers: Sequence[str] = (), refreshers: Sequence[str] = ()) -> None:
        self.name, self.exchangers, self.refreshers, self.made = name, exchangers, refreshers, 0

    def _office(self) -> BadgeOffice:
        self.made += 1
        return BadgeOffice()

    @hookimpl
    def register_credential_exchangers(self) -> list[CredentialExchanger]:
        return [CredentialExchanger(name=name, create=self._office) for name in self.exchangers]

    @hookimpl
    def register_credential_refreshers(self) -> list[CredentialRefresher]:
        return [CredentialRefresher(name=name, create=Patient) for name in self.refreshers]


def stored(kit: Any, server: Any, **oauth2: Any) -> tuple[AuthConfig, InMemoryCredentialService]:
    """A config of `server`, and a store that holds its user's credential."""
    config, store = kit.oauth_config(server), InMemoryCredentialService()
    credential = AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(client_id="client", **oauth2))
    asyncio.run(
        context(compose("adk"), store).save_credential(
            config.model_copy(update={"exchanged_auth_credential": credential})
        )
    )
    return config, store


# --- a stranger's ---------------------------------------------------------------------------------------------------


def test_a_stranger_s_exchanger_serves_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = Stranger("badges", ["api_key_exchanger"])
    composition = compose("standard", plugins=[stranger])
    monkeypatch.setenv("NEWEL_CREDENTIAL_THE_KEY", "key-of-ann")
    assert [credential_of(KEY, context(composition)) for _ in range(2)] == [bearer("badge-for-key-of-ann")] * 2
    assert stranger.made == 1  # once for the composition


def test_a_tool_gets_what_a_stranger_s_exchanger_makes_of_the_user_s_answer(converse: Any, kit: Any) -> None:
    tokens: list[str | None] = []

    def act(credential: AuthCredential) -> dict[str, bool]:
        """Act."""
        assert credential.http is not None
        tokens.append(credential.http.credentials.token)
        return {"ok": True}

    stranger = Stranger("badges", ["api_key_exchanger"])
    talk = converse("standard", [AuthenticatedFunctionTool(act, auth_config=KEY)], plugins=[stranger])
    events = talk.answer(kit.asked(talk.say())[0], {"authType": "apiKey", "apiKey": "key-of-ann"})
    assert kit.results(events) == [{"ok": True}]
    assert tokens == ["badge-for-key-of-ann"]


def test_the_code_of_an_answer_is_exchanged_by_whichever_plugin_has_its_type(
    converse: Any, kit: Any, server: Any, extending: Any
) -> None:
    config, tokens = kit.oauth_config(server), []

    def act(tool_context: ToolContext) -> dict[str, bool]:
        """Act."""
        credential = tool_context.get_auth_response(config)
        if credential is None:
            tool_context.request_credential(config)
            return {"ok": False}
        tokens.append(credential.http.credentials.token)
        return {"ok": True}

    house, stranger = extending("standard", "disable: [oauth2_exchanger]"), Stranger("badges", ["oauth2_exchanger"])
    talk = converse(house, [act], plugins=[stranger])
    call = kit.asked(talk.say())[0]
    assert kit.results(talk.answer(call, kit.consented(server, call))) == [{"ok": True}]
    assert (tokens, server.requests) == (["badge-for-None"], [])


def test_a_tool_is_told_that_no_plugin_exchanges_the_code_of_an_answer(
    converse: Any, kit: Any, server: Any, extending: Any
) -> None:
    def act(credential: AuthCredential) -> dict[str, bool]:
        """Act."""
        return {"ok": True}

    tool = AuthenticatedFunctionTool(act, auth_config=kit.oauth_config(server))
    talk = converse(extending("standard", "disable: [oauth2_exchanger]"), [tool])
    call = kit.asked(talk.say())[0]
    (result,) = kit.results(talk.answer(call, kit.consented(server, call)))
    assert "needs the credential exchanger 'oauth2_exchanger'" in result["error"]


def test_a_replaced_refresher_comes_instead_of_the_built_in_one(extending: Any, kit: Any, server: Any) -> None:
    composition = compose(
        extending("adk", "replace: {oauth2_refresher: patient}"),
        plugins=[Stranger("patient", refreshers=["oauth2_refresher"])],
    )
    config, store = stored(kit, server, access_token="old", refresh_token="r", expires_at=1)
    credential = credential_of(config, context(composition, store))
    assert credential is not None
    assert credential.oauth2.access_token == "patient"  # type: ignore[union-attr]
    assert server.requests == []
    # The rest of OAuth2 stays as it was.
    assert isinstance(exchanger_of(composition, AuthCredentialTypes.OAUTH2), OAuth2CredentialExchanger)
    assert isinstance(refresher_of(composition, AuthCredentialTypes.OPEN_ID_CONNECT), OAuth2CredentialRefresher)


def test_what_is_registered_with_a_manager_comes_before_the_plugins(kit: Any, server: Any) -> None:
    composition = compose("adk")
    config, store = stored(kit, server, access_token="old", expires_at=int(seam.clock()) + 600)
    manager = CredentialManager(config)
    manager.register_credential_refresher(AuthCredentialTypes.OAUTH2, Patient())
    renewed = asyncio.run(manager.get_auth_credential(context(composition, store)))
    assert renewed is not None
    assert renewed.oauth2.access_token == "patient"  # type: ignore[union-attr]

    manager.register_credential_exchanger(AuthCredentialTypes.OAUTH2, BadgeOffice())
    assert asyncio.run(manager.get_auth_credential(context(composition, store))) == bearer("badge-for-None")
    other = credential_of(config, context(composition, store))
    assert other is not None
    assert other.auth_type is AuthCredentialTypes.OAUTH2


def test_two_plugins_for_one_type_are_one_error_that_names_both() -> None:
    plugins = [Stranger("badges", ["api_key_exchanger"]), Stranger("passes", ["api_key_exchanger"])]
    with pytest.raises(CompositionError) as caught:
        compose("adk", plugins=plugins)
    (problem,) = caught.value.problems
    assert problem.startswith("CredentialExchanger 'api_key_exchanger' is provided by the plugins 'badges' (given ")
    assert "and 'passes' (given" in problem
    assert problem.endswith("name one under `replace:` or disable the other")
    with pytest.raises(CompositionError, match=r"'patient' \(.*\) and 'oauth2_refresher' \(newel "):
        compose("adk", plugins=[Stranger("patient", refreshers=["oauth2_refresher"])])


# --- disabled ones --------------------------------------------------------------------------------------------------


ROBOT = AuthConfig(
    auth_scheme=HTTPBearer(),
    raw_auth_credential=AuthCredential(
        auth_type="serviceAccount", service_account=ServiceAccount(use_default_credential=True, scopes=["s"])
    ),
    credential_key="robot",
)


@pytest.mark.parametrize(
    ("disabled", "why"),
    [
        ("oauth2_exchanger", ""),
        ("credentials", ": no enabled plugin declares what a credential exchanger is (enable the plugin that does)"),
    ],
)
def test_a_disabled_exchanger_is_missed_when_a_credential_needs_it(
    extending: Any, kit: Any, server: Any, disabled: str, why: str
) -> None:
    composition = compose(extending("adk", f"disable: [{disabled}]"))
    with pytest.raises(ConfigurationError) as caught:
        credential_of(kit.app_config(server), context(composition))
    assert str(caught.value) == (
        "a credential of the type oauth2 needs the credential exchanger 'oauth2_exchanger', which no enabled plugin "
        f"provides{why}; distribution 'house' disables {disabled}"
    )


def test_a_disabled_service_account_exchanger_is_missed(extending: Any) -> None:
    composition = compose(extending("adk", "disable: [service_account_exchanger]"))
    with pytest.raises(ConfigurationError, match="the credential exchanger 'service_account_exchanger'") as caught:
        credential_of(ROBOT, context(composition))
    assert str(caught.value).endswith("; distribution 'house' disables service_account_exchanger")


def test_a_disabled_refresher_is_missed_once_a_token_has_expired(extending: Any, kit: Any, server: Any) -> None:
    composition = compose(extending("adk", "disable: [oauth2_refresher]"))
    config, store = stored(kit, server, access_token="lasts", expires_at=int(seam.clock()) + 30)
    credential = credential_of(config, context(composition, store))
    assert credential is not None
    config, store = stored(kit, server, access_token="old", expires_at=int(seam.clock()) - 1)
    with pytest.raises(ConfigurationError, match="the credential refresher 'oauth2_refresher'") as caught:
        credential_of(config, context(composition, store))
    assert str(caught.value).endswith("; distribution 'house' disables oauth2_refresher")


def test_what_needs_no_exchange_does_without_the_plugins(kit: Any, server: Any, monkeypatch: Any) -> None:
    bare = compose("minimal")
    monkeypatch.setenv("NEWEL_CREDENTIAL_THE_KEY", "key-of-ann")
    assert credential_of(KEY, context(bare)) == AuthCredential(auth_type="apiKey", api_key="key-of-ann")
    monkeypatch.setenv("NEWEL_CREDENTIAL_CALENDAR", "token-of-ann")
    credential = credential_of(kit.oauth_config(server), context(bare))
    assert credential is not None
    with pytest.raises(ConfigurationError, match="no enabled plugin declares what a credential exchanger is"):
        credential_of(ROBOT, context(bare))


# --- the built-in ones ------------------------------------------------------------------------------------------------


def test_the_built_in_ones_reach_what_the_settings_allow(kit: Any, server: Any, house: Any) -> None:
    credential = credential_of(kit.app_config(server), context(compose(house("adk"))))
    assert credential is not None
    assert credential.oauth2.access_token in server.issued  # type: ignore[union-attr]


def test_making_the_built_in_ones_imports_no_sdk(tmp_path: Path) -> None:
    code = """
import sys
from newel.auth.kinds import CredentialExchanger, CredentialRefresher
from newel_compose import compose
composed = compose("standard")
for kind in (CredentialExchanger, CredentialRefresher):
    for maker in composed.registry.all(kind):
        maker.instance(composed)
print(sorted(name for name in sys.modules if name.startswith(("authlib", "cryptography", "google.auth", "requests"))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"
