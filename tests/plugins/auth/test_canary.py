"""One secret through every path, and then a search for it in every store and every output."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from newel.apps import App
from newel.artifacts import FileArtifactService
from newel.auth import (
    AuthConfig,
    AuthCredential,
    AuthProviderRegistry,
    BaseAuthProvider,
    OAuth2Auth,
    ServiceAccount,
    ServiceAccountCredential,
)
from newel.auth.auth_schemes import APIKey, HTTPBearer
from newel.auth.credential_service import EncryptedFileCredentialService
from newel.auth.credential_service.key_ring import VARIABLE
from newel.plugins import DebugLoggingPlugin, LoggingPlugin
from newel.sessions import SqliteSessionService
from newel.tools import AuthenticatedFunctionTool, ToolContext
from newel.types import Part

CANARY = "canary-b7/2f+9c=51"
CONFIG = AuthConfig(auth_scheme=APIKey(**{"in": "header", "name": "X-Key"}), credential_key="weather")


class Yard:
    """Everything that a run writes to, and a search through it."""

    def __init__(self, folder: Path, house: str, caplog: Any, capsys: Any) -> None:
        self.folder, self.house, self.caplog, self.capsys = folder, house, caplog, capsys
        self.sessions = SqliteSessionService(f"sqlite:///{folder}/sessions.db")
        self.artifacts = FileArtifactService(str(folder / "artifacts"))
        self.credentials = EncryptedFileCredentialService(folder / "credentials")
        self.seen: list[str] = []

    def talk(self, converse: Any, tools: list[Any], registry: Any = None) -> Any:
        plugins = [LoggingPlugin(), DebugLoggingPlugin(output_path=str(self.folder / "debug.yaml"))]
        return converse(
            self.house,
            tools,
            self.sessions,
            app=lambda agent: App(name="app", agent=agent, plugins=plugins, auth_provider_registry=registry),  # type: ignore[call-arg]
            artifact_service=self.artifacts,
            credential_service=self.credentials,
        )

    def note(self, talk: Any, events: list[Any]) -> list[Any]:
        """Keep everything that a caller could have written down of a turn."""
        self.seen += [event.model_dump_json() for event in events] + [repr(event) for event in events]
        self.seen += [repr(request.contents) for request in talk.agent.model.requests]
        session = talk.session
        self.seen += [repr(session), json.dumps(session.state, default=repr)]
        self.seen += [event.model_dump_json(by_alias=True) for event in session.events]
        return events

    def search(self, *secrets: str) -> None:
        """Fail where one of the secrets, in any usual spelling, is in anything that was written."""
        out = self.capsys.readouterr()
        texts = {"stdout": out.out, "stderr": out.err, "logs": self.caplog.text, "memory": "\n".join(self.seen)}
        for path in self.folder.rglob("*"):
            if path.is_file():
                texts[str(path)] = path.read_bytes().decode("latin-1")
        assert any(name.endswith("sessions.db") for name in texts)
        for secret in secrets:
            for form in (secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], secret.encode().hex()):
                found = [name for name, text in texts.items() if form in text]
                assert not found, f"{form} is in {found}"


@pytest.fixture
def yard(tmp_path: Path, house: Any, caplog: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(VARIABLE, Fernet.generate_key().decode())
    folder = tmp_path / "yard"
    folder.mkdir()
    made = Yard(folder, house(), caplog, capsys)
    yield made
    asyncio.run(made.sessions.close())


async def leaky(credential: AuthCredential, tool_context: ToolContext) -> dict[str, Any]:
    """A tool as careless as can be: it returns its key, writes it into the state, and logs nothing only by chance."""
    key = credential.api_key or ""
    tool_context.state["token"] = key
    tool_context.state["user:nested"] = {"headers": [f"Bearer {key}"]}
    await tool_context.save_artifact("report.txt", Part(text="all is well"))
    return {"key": key, "url": f"https://x.example/?key={key}", "credential": credential, "list": [key.encode()]}


def raising(credential: AuthCredential, tool_context: ToolContext) -> dict[str, Any]:
    """A tool whose errors quote the request."""
    try:
        raise KeyError(f"no header {credential.api_key}")
    except KeyError as error:
        error.add_note(f"sent {credential.api_key}")
        raise RuntimeError("request failed", {"X-Key": credential.api_key}) from error


class Stubborn(Exception):
    """An error whose text is made of something that cannot be reached from outside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._say = lambda: text

    def __str__(self) -> str:
        return self._say()


def stubborn(credential: AuthCredential, tool_context: ToolContext) -> dict[str, Any]:
    """A tool with an error of its own."""
    raise Stubborn(f"bad key {credential.api_key}")


def as_act(function: Any, config: AuthConfig = CONFIG) -> AuthenticatedFunctionTool:
    tool = AuthenticatedFunctionTool(function, auth_config=config)
    tool.name = "act"
    return tool


ANSWER = {
    **CONFIG.model_dump(mode="json", by_alias=True, exclude_none=True),
    "exchangedAuthCredential": {"authType": "apiKey", "apiKey": CANARY, "note": f"my key is {CANARY}"},
    "comment": CANARY,
}


@pytest.mark.parametrize("function", [leaky, raising, stubborn])
def test_the_user_s_answer(yard: Yard, converse: Any, kit: Any, function: Any) -> None:
    talk = yard.talk(converse, [as_act(function)])
    asked = kit.asked(yard.note(talk, talk.say()))[0]
    events = yard.note(talk, talk.answer(asked, ANSWER))
    assert len(kit.results(events)) == 1
    yard.note(talk, talk.say())  # from the credential store now
    yard.search(CANARY)


def test_a_function_that_asks_by_itself(yard: Yard, converse: Any, kit: Any) -> None:
    def act(tool_context: ToolContext) -> dict[str, Any]:
        """Act."""
        credential = tool_context.get_auth_response(CONFIG)
        if credential is None:
            tool_context.request_credential(CONFIG)
            return {}
        tool_context.state["token"] = credential.api_key
        return {"key": credential.api_key}

    talk = yard.talk(converse, [act])
    asked = kit.asked(yard.note(talk, talk.say()))[0]
    assert kit.results(yard.note(talk, talk.answer(asked, ANSWER))) == [{"key": "<secret>"}]
    assert talk.session.state["token"] == "<secret>"
    yard.search(CANARY)


@pytest.mark.parametrize("function", [leaky, raising])
@pytest.mark.parametrize("source", ["provider", "environment", "app"])
def test_what_the_operator_brings(
    yard: Yard, converse: Any, kit: Any, monkeypatch: pytest.MonkeyPatch, source: str, function: Any
) -> None:
    credential = AuthCredential(auth_type="apiKey", api_key=CANARY)

    class Vault(BaseAuthProvider):
        supported_auth_schemes = (APIKey,)

        async def get_auth_credential(self, auth_config: Any, context: Any) -> Any:
            return credential

    registry, config = AuthProviderRegistry(), CONFIG
    if source == "provider":
        registry.register(Vault())
    elif source == "environment":
        monkeypatch.setenv("NEWEL_CREDENTIAL_WEATHER", CANARY)
    else:
        config = CONFIG.model_copy(update={"raw_auth_credential": credential})
    talk = yard.talk(converse, [as_act(function, config)], registry)
    assert len(kit.results(yard.note(talk, talk.say()))) == 1
    yard.search(CANARY)


def test_a_provider_that_fails(yard: Yard, converse: Any, kit: Any) -> None:
    class Vault(BaseAuthProvider):
        supported_auth_schemes = (APIKey,)

        async def get_auth_credential(self, auth_config: Any, context: Any) -> Any:
            raise PermissionError(f"the vault does not open with {CANARY}")

    registry = AuthProviderRegistry()
    registry.register(Vault())
    talk = yard.talk(converse, [as_act(leaky)], registry)
    assert "Vault failed with PermissionError" in kit.results(yard.note(talk, talk.say()))[0]["error"]
    yard.search(CANARY)


@pytest.mark.parametrize("fault", ["none", "code", "client", "words", "down"])
def test_oauth2_with_all_that_it_gives_out(yard: Yard, converse: Any, kit: Any, server: Any, fault: str) -> None:
    """The client's secret, codes, verifiers and tokens, through exchange and refresh, and through their failures."""
    server.client_secret, server.lasts = CANARY, 30
    config = kit.oauth_config(server, client_secret=CANARY)

    def act(credential: AuthCredential, tool_context: ToolContext) -> dict[str, Any]:
        """Act."""
        assert credential.oauth2 is not None
        tool_context.state["token"] = credential.oauth2.access_token
        raise RuntimeError(f"401 for {credential.oauth2.access_token}, client {credential.oauth2.client_secret}")

    talk = yard.talk(converse, [as_act(act, config)])
    asked = kit.asked(yard.note(talk, talk.say()))[0]
    answer = kit.consented(server, asked)

    def break_it() -> None:
        if fault == "code":
            server._codes.clear()
            server._refresh.clear()
        elif fault == "client":
            server.client_secret = "another"
        elif fault == "words":
            server.failure = (400, json.dumps({"error": CANARY, "error_description": CANARY}).encode())
        elif fault == "down":
            server.failure = (503, CANARY.encode())

    yard.note(talk, talk.answer(asked, answer))
    break_it()
    yard.note(talk, talk.say())
    server.failure, server.client_secret = None, CANARY
    again = kit.asked(yard.note(talk, talk.say()))
    if again:
        answer = kit.consented(server, again[0])
        break_it()
        yard.note(talk, talk.answer(again[0], answer))
    verifiers = [request["code_verifier"] for request in server.requests if "code_verifier" in request]
    assert verifiers
    assert len(server.issued) >= 2
    yard.search(CANARY, *server.issued, *verifiers)


def test_a_service_account_whose_key_is_no_key(yard: Yard, converse: Any, kit: Any) -> None:
    account = ServiceAccountCredential(
        type_="service_account",
        project_id="p",
        private_key_id="i",
        private_key=CANARY,
        client_email="e",
        client_id="c",
        auth_uri="u",
        token_uri="https://oauth2.example/token",
        auth_provider_x509_cert_url="x",
        client_x509_cert_url="y",
        universe_domain="z",
    )
    raw = AuthCredential(auth_type="serviceAccount", service_account=ServiceAccount(service_account_credential=account))
    config = AuthConfig(auth_scheme=HTTPBearer(), raw_auth_credential=raw, credential_key="account")
    talk = yard.talk(converse, [as_act(leaky, config)])
    error = kit.results(yard.note(talk, talk.say()))[0]["error"]
    assert "no token for the service account" in error
    yard.search(CANARY)


def test_answers_that_are_refused(yard: Yard, converse: Any, kit: Any) -> None:
    talk = yard.talk(converse, [as_act(leaky)])
    asked = kit.asked(yard.note(talk, talk.say()))[0]
    wrong = [{"key": CANARY}, {"authType": CANARY}, {"authType": "apiKey", "apiKey": [CANARY]}, {"result": [CANARY]}]
    for answer in wrong:
        with pytest.raises(ValueError, match="the answer to the call") as caught:
            talk.answer(asked, answer)
        yard.seen.append("".join(traceback.format_exception(caught.value)))
    yard.note(talk, [])
    yard.search(CANARY)


def test_a_run_that_fails_with_the_tool(yard: Yard, converse: Any, kit: Any, house: Any) -> None:
    """Where no policy answers for a tool's error it leaves the runner; its traceback holds no secret either."""
    yard.house = house("adk", recorded=False)
    talk = yard.talk(converse, [as_act(raising)])
    asked = kit.asked(yard.note(talk, talk.say()))[0]
    with pytest.raises(RuntimeError, match="request failed") as caught:
        talk.answer(asked, ANSWER)
    yard.seen.append("".join(traceback.format_exception(caught.value)))
    yard.note(talk, [])
    yard.search(CANARY)


def test_the_search_finds_what_is_there(yard: Yard, converse: Any) -> None:
    def act() -> dict[str, Any]:
        """A tool that has the secret from elsewhere."""
        return {"key": CANARY}

    talk = yard.talk(converse, [act])
    yard.note(talk, talk.say())
    with pytest.raises(AssertionError, match=r"is in \['stdout', .*'memory', .*debug\.yaml|sessions\.db"):
        yard.search(CANARY)


def test_a_token_of_another_kind_is_masked_in_urls() -> None:
    from newel.auth.secrecy import Secrets

    secrets = Secrets()
    secrets.add(AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth(access_token=CANARY)).secrets())
    assert secrets.mask({"u": "https://x/?t=canary-b7%2F2f%2B9c%3D51"}) == {"u": "https://x/?t=<secret>"}
    untouched = {"a": ["b", ("c", 1)], "d": None}
    assert secrets.mask(untouched) is untouched
