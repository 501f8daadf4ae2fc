"""Gemini Live on Vertex AI through the real SDK: how it is addressed and signed in to, and what every provider does.

The SDK signs in with a key file, at a local service that gives tokens.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.genai.types import LiveConnectConfig

from newel import types
from newel.models import BaseLlm, Gemini, LlmResponse
from newel_kernel import ModelError
from newel_testkit.live import GeminiLiveServer, Wait
from newel_testkit.live import gemini_messages as says
from newel_testkit.live.bench import Bench, sound, turn, user
from newel_testkit.live.conformance import Case, live_conformance
from newel_testkit.live.dialects import GeminiDialect
from newel_testkit.live.server import LiveServer

TOKEN = "test-token-0123456789"
MODEL = "gemini-live-2.5-flash"
WHERE = "projects/p-1/locations/europe-west1"
NAME = f"{WHERE}/publishers/google/models/{MODEL}"


class Tokens(ThreadingHTTPServer):
    """Gives a token to whoever asks with a key file of `key_file`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.refuses = False
        # Small: with each session the SDK reads the key, and looks whether its numbers are primes.
        pem = rsa.generate_private_key(65537, 1024).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self.key_file = json.dumps(
            {
                "type": "service_account",
                "client_email": "a@b",
                "project_id": "p-0",
                "private_key": pem.decode(),
                "token_uri": f"http://127.0.0.1:{self.server_port}/token",
            }
        )


class _Answers(BaseHTTPRequestHandler):
    server: Tokens

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        told = (
            {"error": "invalid_grant"}
            if self.server.refuses
            else {
                "access_token": TOKEN,
                "expires_in": 3600,
                "token_type": "Bearer",
            }
        )
        body = json.dumps(told).encode()
        self.send_response(400 if self.server.refuses else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class VertexDialect(GeminiDialect):
    """Gemini Live on Vertex AI; its credential is a token."""

    key = TOKEN
    #: Where the key file lies.
    file = Path()

    def model(self, server: LiveServer, **options: Any) -> BaseLlm:
        return Gemini(**{"model": MODEL, "project": "p-1", **options})

    def variables(self, server: LiveServer) -> dict[str, str]:
        assert isinstance(server, GeminiLiveServer)
        return {
            "GOOGLE_GENAI_USE_VERTEXAI": "true",
            "GOOGLE_VERTEX_BASE_URL": server.url,
            "SSL_CERT_FILE": server.ca_file,
            "GOOGLE_CLOUD_LOCATION": "europe-west1",
            "GOOGLE_APPLICATION_CREDENTIALS": str(self.file),
        }

    @contextmanager
    def serving(self) -> Iterator[LiveServer]:
        with mock.patch.dict(os.environ):
            for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_ENTERPRISE"):
                os.environ.pop(name, None)
            with super().serving() as server:
                yield server


DIALECT = VertexDialect()


@pytest.fixture(scope="module", autouse=True)
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokens]:
    """The service that gives tokens."""
    with Tokens() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        DIALECT.file = tmp_path_factory.mktemp("keys") / "key.json"
        DIALECT.file.write_text(server.key_file)
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def bench() -> Iterator[Bench]:
    with DIALECT.serving() as server:
        yield Bench(DIALECT, server)


def talk(bench: Bench, *steps: Any, options: dict[str, Any] | None = None, **live: Any) -> list[LlmResponse]:
    async def run() -> list[LlmResponse]:
        async with asyncio.timeout(120), bench.connected(*steps, options=options, **live) as connection:
            await connection.send_content(user("hi"))
            return await turn(connection)

    return asyncio.run(run())


def setup(bench: Bench) -> Any:
    bench.server.settle()
    [message] = bench.server.connections[0].of("setup")
    return message["setup"]


@pytest.mark.parametrize("name", [MODEL, f"publishers/google/models/{MODEL}", f"google/{MODEL}", NAME])
def test_where_it_goes_and_how_it_signs_in(bench: Bench, name: str) -> None:
    """The model is one of the project's; the token is a header, and in no address."""
    responses = talk(bench, Wait("clientContent"), says.text("so"), says.turn_complete(), options={"model": name})
    assert responses[-1].turn_complete
    [connection] = bench.server.connections
    assert connection.path == "/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent"
    assert connection.headers["authorization"] == f"Bearer {TOKEN}"
    assert "x-goog-api-key" not in connection.headers
    assert setup(bench)["model"] == NAME


def test_the_setup(bench: Bench) -> None:
    talk(
        bench,
        says.turn_complete(),
        session_resumption=types.SessionResumptionConfig(),
        labels={"team": "a"},
        temperature=0.25,
    )
    sent = setup(bench)
    assert sent["generationConfig"] == {"responseModalities": ["TEXT"], "temperature": 0.25}
    assert sent["systemInstruction"] == {"role": "system", "parts": [{"text": "Be brief."}]}
    assert sent["sessionResumption"] == {"transparent": True}
    assert sent["inputAudioTranscription"] == sent["outputAudioTranscription"] == {}
    [declared] = sent["tools"][0]["functionDeclarations"]
    assert declared["name"] == "add"
    assert sent.get("labels") == ({"team": "a"} if "labels" in LiveConnectConfig.model_fields else None)


def test_the_service_says_which_input_it_has_taken(bench: Bench) -> None:
    async def run() -> list[int | None]:
        script = [Wait("realtimeInput", 2), says.resumption("h-1", consumed=1), says.turn_complete()]
        resumption = types.SessionResumptionConfig()
        async with asyncio.timeout(120), bench.connected(*script, session_resumption=resumption) as connection:
            taken = [connection.inputs_taken]
            await connection.send_realtime(sound())
            await connection.send_realtime(sound())
            await turn(connection)
            return [*taken, connection.inputs_taken]

    assert asyncio.run(run()) == [None, 1]


def test_a_sign_in_that_fails_says_what_to_do(bench: Bench, tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens.refuses = True
    try:
        with pytest.raises(ModelError, match=r"needs a sign-in .*invalid_grant.*gcloud auth") as caught:
            talk(bench)
    finally:
        tokens.refuses = False
    assert caught.value.code == "UNAUTHENTICATED"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/no/key.json")
    with pytest.raises(ModelError, match=r"needs a sign-in .*/no/key\.json.*GOOGLE_APPLICATION_CREDENTIALS"):
        talk(bench)
    assert bench.server.connections == []


@pytest.mark.parametrize("case", live_conformance(DIALECT), ids=lambda case: case.name)
def test_conforms(case: Case) -> None:
    case()
