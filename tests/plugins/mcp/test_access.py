"""Access: who may reach a server, what is asked of the user, and what is told when nobody can."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.plugins.mcp.talks import Make, Talk, call, in_a_loop, questions, results

from newel.auth import AuthCredential, HttpAuth, HttpCredentials
from newel.auth.credential_service import InMemoryCredentialService
from newel.mcp.errors import McpUnreachableError
from newel_testkit import OAuthServer
from newel_types import APIKey, HTTPBearer, OAuth2Auth

ASKS = "adk_request_credential"


@pytest.fixture
def issuer() -> Iterator[OAuthServer]:
    with OAuthServer() as running:
        yield running


def client(issuer: OAuthServer) -> AuthCredential:
    oauth2 = OAuth2Auth(
        client_id=issuer.client_id, client_secret=issuer.client_secret, redirect_uri=issuer.redirect_uri
    )
    return AuthCredential(auth_type="oauth2", oauth2=oauth2)  # type: ignore[arg-type]


def allowing(issuer: OAuthServer, folder: Any) -> str:
    file = folder / "newel.yaml"
    hosts = json.dumps([urlsplit(issuer.url).netloc])
    file.write_text(f"name: mine\nextends: standard\nsettings:\n  auth:\n    allow_hosts: {hosts}\n")
    return str(file)


def consent_of(question: Any) -> str:
    config = question.args["authConfig"]
    uri: str = config["exchangedAuthCredential"]["oauth2"]["authUri"]
    return uri


def agreed(issuer: OAuthServer, question: Any, **more: str) -> dict[str, Any]:
    uri = issuer.consent(consent_of(question)) + "".join(f"&{name}={value}" for name, value in more.items())
    config = json.loads(json.dumps(question.args["authConfig"]))
    config["exchangedAuthCredential"]["oauth2"]["authResponseUri"] = uri
    return config  # type: ignore[no-any-return]


@in_a_loop
async def test_a_401_starts_the_flow_and_the_token_is_bound_to_the_server(
    site: Make, http: Make, issuer: OAuthServer, tmp_path: Any
) -> None:
    served = site("--issuer", issuer.url)
    toolset = http(served, auth_credential=client(issuer))
    talk = Talk([toolset], call("echo", text="x"), distribution=allowing(issuer, tmp_path))
    (asked,) = questions(await talk.say(), ASKS)
    sent = {name: values[0] for name, values in parse_qs(urlsplit(consent_of(asked)).query).items()}
    assert sent["resource"] == f"{served.url}/mcp"
    assert sent["code_challenge_method"] == "S256"
    assert sent["scope"] == "notes"
    found = results(await talk.answer(asked, agreed(issuer, asked, iss=issuer.url)))
    await toolset.close()
    assert found == [{"result": "x"}]
    assert issuer.requests[-1]["resource"] == f"{served.url}/mcp"
    stored = json.dumps([event.model_dump(mode="json") for event in talk.session.events])
    assert not [token for token in issuer.issued if token in stored]


@in_a_loop
async def test_an_answer_of_another_issuer_is_refused(
    site: Make, http: Make, issuer: OAuthServer, tmp_path: Any
) -> None:
    toolset = http(site("--issuer", issuer.url), auth_credential=client(issuer))
    talk = Talk([toolset], distribution=allowing(issuer, tmp_path))
    (asked,) = questions(await talk.say(), ASKS)
    events = await talk.answer(asked, agreed(issuer, asked, iss="https://evil.example"))
    await toolset.close()
    assert len(questions(events, ASKS)) == 1
    assert not issuer.requests


@in_a_loop
async def test_a_token_that_is_revoked_asks_again(site: Make, http: Make, issuer: OAuthServer, tmp_path: Any) -> None:
    served = site("--issuer", issuer.url)
    toolset = http(served, auth_credential=client(issuer))
    talk = Talk(
        [toolset], call("echo", text="x"), "done", call("echo", text="y"), distribution=allowing(issuer, tmp_path)
    )
    (asked,) = questions(await talk.say(), ASKS)
    await talk.answer(asked, agreed(issuer, asked))
    urllib.request.urlopen(urllib.request.Request(f"{served.url}/_revoke", method="POST")).close()
    events = await talk.say()
    (again,) = questions(events, ASKS)
    assert consent_of(again) != consent_of(asked)
    events = await talk.answer(again, agreed(issuer, again))
    await toolset.close()
    assert {"result": "y"} in results(events)


def with_redirect(**client: Any) -> AuthCredential:
    oauth2 = OAuth2Auth(redirect_uri="https://mine.example/back", **client)
    return AuthCredential(auth_type="oauth2", oauth2=oauth2)  # type: ignore[arg-type]


@pytest.mark.parametrize("methods", [None, ["none"], ["client_secret_post"]])
@in_a_loop
async def test_an_app_without_a_client_registers_itself(
    site: Make, http: Make, issuer: OAuthServer, tmp_path: Any, methods: Any
) -> None:
    issuer.registers, issuer.methods = True, methods
    served = site("--issuer", issuer.url)
    toolset = http(served, auth_credential=with_redirect())
    talk = Talk([toolset], call("echo", text="x"), distribution=allowing(issuer, tmp_path))
    (asked,) = questions(await talk.say(), ASKS)
    (wishes,) = issuer.registered
    assert wishes["redirect_uris"] == ["https://mine.example/back"]
    assert wishes["token_endpoint_auth_method"] == (methods or ["client_secret_basic"])[0]
    found = results(await talk.answer(asked, agreed(issuer, asked)))
    await toolset.close()
    assert found == [{"result": "x"}]
    stored = json.dumps([event.model_dump(mode="json") for event in talk.session.events])
    assert not [secret for secret in issuer.issued if secret in stored]


@in_a_loop
async def test_another_process_uses_the_client_that_was_registered(
    site: Make, http: Make, issuer: OAuthServer, tmp_path: Any
) -> None:
    issuer.registers = True
    served, credentials, where = site("--issuer", issuer.url), InMemoryCredentialService(), allowing(issuer, tmp_path)
    asked = []
    for _ in range(2):
        toolset = http(served, auth_credential=with_redirect())
        talk = Talk([toolset], call("echo", text="x"), distribution=where)
        talk.runner.credential_service = credentials
        asked += questions(await talk.say(), ASKS)
        await toolset.close()
    assert len(asked) == 2
    assert len(issuer.registered) == 1


@pytest.mark.parametrize("takes", [True, False])
@in_a_loop
async def test_a_client_id_may_be_the_address_of_a_document(
    site: Make, http: Make, issuer: OAuthServer, tmp_path: Any, takes: bool
) -> None:
    """Where the server takes none, the app registers itself."""
    document = "https://mine.example/client.json"
    issuer.takes_documents, issuer.registers, issuer.methods = takes, True, ["none"]
    issuer.client_id, issuer.client_secret, issuer.redirect_uri = document, None, "https://mine.example/back"
    toolset = http(site("--issuer", issuer.url), auth_credential=with_redirect(client_id=document))
    talk = Talk([toolset], call("echo", text="x"), distribution=allowing(issuer, tmp_path))
    (asked,) = questions(await talk.say(), ASKS)
    found = results(await talk.answer(asked, agreed(issuer, asked)))
    await toolset.close()
    assert found == [{"result": "x"}]
    assert len(issuer.registered) == (0 if takes else 1)
    assert issuer.requests[-1]["client_id"] == (document if takes else "client-1")


@pytest.mark.parametrize(
    ("registers", "credential", "remedy"),
    [
        (False, with_redirect(), "registers no clients: register your app there, and give its client_id"),
        (False, with_redirect(client_id="https://mine.example/c.json"), "takes no addresses of documents"),
        (True, AuthCredential(auth_type="oauth2", oauth2=OAuth2Auth()), "OAuth2Auth(redirect_uri=...)"),  # type: ignore[arg-type]
        (True, None, "a redirect_uri to register there"),
    ],
)
@in_a_loop
async def test_who_has_no_client_and_cannot_get_one_is_told_what_to_do(
    site: Make, http: Make, issuer: OAuthServer, tmp_path: Any, registers: bool, credential: Any, remedy: str
) -> None:
    issuer.registers = registers
    toolset = http(site("--issuer", issuer.url), auth_credential=credential)
    with pytest.raises(Exception, match=re.escape(remedy)):
        await Talk([toolset], distribution=allowing(issuer, tmp_path)).say()
    await toolset.close()


@in_a_loop
async def test_a_token_that_does_not_cover_a_call_asks_for_more(
    site: Make, http: Make, issuer: OAuthServer, tmp_path: Any
) -> None:
    served = site("--issuer", issuer.url)
    toolset = http(served, auth_credential=client(issuer))
    steps = [call("echo", text="x"), "done", call("echo", text="y"), "done", call("echo", text="z"), "done"]
    talk = Talk([toolset], *steps, distribution=allowing(issuer, tmp_path))
    (asked,) = questions(await talk.say(), ASKS)
    await talk.answer(asked, agreed(issuer, asked))
    for word, scopes in (("y", "notes write"), ("z", None)):
        urllib.request.urlopen(urllib.request.Request(f"{served.url}/_narrow", method="POST")).close()
        events = await talk.say()
        if scopes is None:  # it was granted, and the server wants it again: nobody is asked for ever
            assert not questions(events, ASKS)
            assert "does not cover it" in results(events)[0]["error"]
            continue
        (again,) = questions(events, ASKS)
        assert parse_qs(urlsplit(consent_of(again)).query)["scope"] == [scopes]
        assert {"result": word} in results(await talk.answer(again, agreed(issuer, again)))
    await toolset.close()


@in_a_loop
async def test_a_server_of_the_time_before_resource_metadata_is_its_own_issuer(
    site: Make, http: Make, issuer: OAuthServer, tmp_path: Any
) -> None:
    served = site("--issuer", issuer.url, "--old")
    toolset = http(served, auth_credential=client(issuer))
    file = Path(allowing(issuer, tmp_path))
    file.write_text(file.read_text().replace("[", f'["{urlsplit(served.url).netloc}", '))
    talk = Talk([toolset], call("echo", text="x"), distribution=str(file))
    (asked,) = questions(await talk.say(), ASKS)
    found = results(await talk.answer(asked, agreed(issuer, asked)))
    await toolset.close()
    assert found == [{"result": "x"}]


@in_a_loop
async def test_metadata_of_another_resource_is_refused(site: Make, http: Make, issuer: OAuthServer) -> None:
    """A server that names somebody else's resource gets no token for it."""
    toolset = http(site("--issuer", "http://169.254.169.254"), auth_credential=client(issuer))
    with pytest.raises(Exception, match=r"169\.254\.169\.254"):
        await Talk([toolset]).say()
    await toolset.close()


@in_a_loop
async def test_the_apps_own_credentials_are_sent(site: Make, http: Make) -> None:
    served = site("--token", "TOPSECRET")
    token = HttpAuth(scheme="bearer", credentials=HttpCredentials(token="TOPSECRET"))
    credential = AuthCredential(auth_type="http", http=token)  # type: ignore[arg-type]
    toolset = http(served, auth_scheme=HTTPBearer(), auth_credential=credential)
    talk = Talk([toolset], call("echo", text="x"))
    assert results(await talk.say()) == [{"result": "x"}]
    await toolset.close()


@in_a_loop
async def test_a_key_goes_into_its_header(site: Make, http: Make) -> None:
    served = site()
    credential = AuthCredential(auth_type="apiKey", api_key="KEY-123456")  # type: ignore[arg-type]
    scheme = APIKey(in_="header", name="x-key")  # type: ignore[arg-type]
    toolset = http(served, auth_scheme=scheme, auth_credential=credential)
    assert results(await Talk([toolset], call("echo", text="x")).say()) == [{"result": "x"}]
    await toolset.close()
    assert {one["headers"].get("x-key") for one in served.seen} == {"KEY-123456"}


@in_a_loop
async def test_without_an_optional_server_the_agent_goes_on_and_the_model_is_told(
    stdio: Make, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = stdio("raw", "dead", required=False), stdio("good", tool_name_prefix="g")
    talk = Talk([bad, good], call("g_echo", text="x"))
    assert results(await talk.say()) == [{"result": "x"}]
    for one in (bad, good):
        await one.close()
    assert "cannot be used at the moment" in str(talk.model.requests[0].config.system_instruction)
    assert caplog.text.count("goes on without an optional server") == 1


@in_a_loop
async def test_a_server_that_nobody_runs_is_named(http: Make) -> None:
    class Nowhere:
        url = "http://127.0.0.1:9"

    toolset = http(Nowhere())
    with pytest.raises(McpUnreachableError, match=r"127\.0\.0\.1:9/mcp cannot be reached: ConnectError"):
        await toolset.get_tools()
    await toolset.close()
