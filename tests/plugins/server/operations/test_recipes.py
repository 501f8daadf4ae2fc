"""The recipes of docs/guides/serving.md work as they are printed: only addresses and paths are those of the test."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

GUIDE = Path(__file__).parents[4] / "docs" / "guides" / "serving.md"
TOKEN = "0123456789abcdef0123456789"
NAME = "agents.example"
#: Its events come a quarter of a second apart.
AGENT = """
import asyncio
from newel import Agent
from newel.models import BaseLlm, LlmResponse
from newel.types import Content, Part

class Slow(BaseLlm):
    model: str = "slow"

    async def generate_content_async(self, llm_request, stream=False):
        for word in ("one ", "two ", "three ", "four ", "five"):
            await asyncio.sleep(0.25)
            yield LlmResponse(content=Content(role="model", parts=[Part(text=word)]), partial=True)
        yield LlmResponse(content=Content(role="model", parts=[Part(text="one two three four five")]))

root_agent = Agent(name="clerk", model=Slow())
"""
SESSION = "/apps/clerk/users/u/sessions"


def block(language: str, first: str = "") -> str:
    """The block of the guide in a language, that with `first` in it."""
    found = re.findall(rf"^```{language}\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (one,) = [text for text in found if first in text]
    return str(one)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a folder of agents."""
    (tmp_path / "agents" / "clerk").mkdir(parents=True)
    (tmp_path / "agents" / "clerk" / "agent.py").write_text(AGENT)
    return tmp_path


@contextmanager
def running(command: list[str], folder: Path, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A program, until SIGTERM ends it."""
    environment = {**os.environ, "NEWEL_SERVER_TOKEN": TOKEN, **variables}
    process = subprocess.Popen(command, cwd=folder, env=environment, text=True, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            assert process.wait(60) in (0, -signal.SIGTERM)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def newel(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "newel.cli.main", *arguments]


def answers(base: str, path: str = "/health", **options: Any) -> httpx.Response:
    """The answer, once the server gives one."""
    end = time.monotonic() + 60
    while True:
        try:
            return httpx.get(f"{base}{path}", trust_env=False, timeout=30, **options)
        except httpx.TransportError:
            assert time.monotonic() < end
            time.sleep(0.1)


def talk(client: httpx.Client, prefix: str = "") -> list[float]:
    """When the frames of a run came."""
    assert client.post(f"{prefix}{SESSION}", json={"sessionId": "a/b"}).status_code == 200
    assert client.get(f"{prefix}{SESSION}/a%2Fb").json()["id"] == "a/b"
    message = {"role": "user", "parts": [{"text": "hi"}]}
    body = {"appName": "clerk", "userId": "u", "sessionId": "a/b", "newMessage": message, "streaming": True}
    times = []
    with client.stream("POST", f"{prefix}/run_sse", json=body) as stream:
        assert stream.status_code == 200, stream.read()
        for line in stream.iter_lines():
            if line.startswith("data:") and json.loads(line[5:])["author"] == "clerk":
                times.append(time.monotonic())
    assert len(times) == 6
    return times


# --- nginx ------------------------------------------------------------------------------------------------------------


def _certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
    pem = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "fullchain.pem").write_bytes(pem)
    (folder / "privkey.pem").write_bytes(private)


@contextmanager
def nginx(folder: Path, server: str) -> Iterator[None]:
    """nginx with a server block, whoever runs it."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("nginx is not on the path")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    user = "user root;" if os.geteuid() == 0 else ""
    head = f"daemon off; {user} pid {folder}/nginx.pid; worker_processes 1; events {{}}\n"
    text = f"{head}http {{\naccess_log off;\n{temporary}\n{server}\n}}\n"
    (folder / "nginx.conf").write_text(text)
    command = [program, "-e", f"{folder}/error.log", "-p", str(folder), "-c", f"{folder}/nginx.conf"]
    with running(command, folder):
        yield


@pytest.mark.parametrize(("name", "prefix"), [("location / {", ""), ("location /agents/ {", "/agents")])
def test_nginx(place: Path, name: str, prefix: str) -> None:
    _certificate(place)
    port, back = free_port(), free_port()
    text = block("nginx", "listen 443 ssl")
    if prefix:  # the second block is one location, in place of the first one
        outer = re.search(r"^  location / \{.*?^  \}\n", text, re.DOTALL | re.MULTILINE)
        assert outer is not None
        text = text.replace(outer[0], block("nginx", name))
    ours = {"443": port, "127.0.0.1:8000": f"127.0.0.1:{back}", "/etc/ssl/agents.example": place}
    for theirs, our in ours.items():
        assert theirs in text
        text = text.replace(theirs, str(our))
    command = shlex.split(block("console", "--proxy 127.0.0.1"))[1:]
    command += ["--port", str(back), "--sessions", "sqlite:///s.db", *(["--url-prefix", prefix] if prefix else [])]
    context = ssl.create_default_context(cafile=place / "fullchain.pem")
    headers = {"authorization": f"Bearer {TOKEN}", "host": NAME, "origin": f"https://{NAME}"}
    base = f"https://127.0.0.1:{port}"
    with running(newel(*command), place), nginx(place, text):
        answers(f"http://127.0.0.1:{back}")
        with httpx.Client(
            base_url=base, headers=headers, verify=context, trust_env=False, timeout=60, transport=_Named(context)
        ) as client:
            times = talk(client, prefix)
            assert times[-1] - times[0] > 0.75, "the frames came together"
            assert client.get(f"{prefix}/list-apps", headers={"host": "evil.example"}).status_code == 400
            assert (
                client.post(f"{prefix}{SESSION}", json={}, headers={"origin": "https://evil.example"}).status_code
                == 403
            )
            assert client.get(f"{prefix}/list-apps", headers={"authorization": ""}).status_code == 401
            large = {"state": {"text": "x" * 17_000_000}}
            assert client.post(f"{prefix}{SESSION}", json=large).status_code == 413
            assert client.get(f"{prefix}/").headers["location"].startswith(f"{prefix}/d")
            cookie = client.post(f"{prefix}/auth/cookie").headers["set-cookie"]
            assert "Secure" in cookie
            assert f"Path={prefix or '/'};" in cookie


class _Named(httpx.HTTPTransport):
    """Asks 127.0.0.1 for the name that the certificate has."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(verify=context, trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions = {**request.extensions, "sni_hostname": NAME}
        return super().handle_request(request)


# --- other servers of ASGI apps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["uvicorn", "gunicorn"])
def test_served_by(program: str, place: Path) -> None:
    if find_spec(program) is None or (program == "gunicorn" and find_spec("uvicorn_worker") is None):
        pytest.skip(f"pip install {program}" + " uvicorn-worker" * (program == "gunicorn"))
    (place / "serving.py").write_text(block("python", "# serving.py"))
    (line,) = [one for one in block("console", "gunicorn").splitlines() if one.startswith(program)]
    port = free_port()
    command = [sys.executable, "-m", *shlex.split(line.replace("8000", str(port)))]
    with running(command, place):
        base = f"http://127.0.0.1:{port}"
        answers(base)
        assert answers(base, "/list-apps").status_code == 401
        assert answers(base, "/list-apps", headers={"host": "evil.example"}).status_code == 400
        headers = {"authorization": f"Bearer {TOKEN}", "host": NAME}
        with httpx.Client(base_url=base, headers=headers, trust_env=False, timeout=60) as client:
            talk(client)


# --- containers and units ---------------------------------------------------------------------------------------------


def _instructions() -> list[tuple[str, str]]:
    text = block("dockerfile").replace("\\\n", " ")
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in text.splitlines() if line.strip()]


def test_the_container_is_healthy_while_it_serves(place: Path) -> None:
    steps = _instructions()
    names = [name for name, _ in steps]
    known = {"FROM", "RUN", "USER", "WORKDIR", "COPY", "EXPOSE", "VOLUME", "ENV", "HEALTHCHECK", "CMD"}
    assert set(names) <= known
    assert names.index("USER") < names.index("CMD")
    given = dict(steps)
    assert given["USER"] not in ("root", "0")
    assert any("pip install" in step and "'newel[server]'" in step for name, step in steps if name == "RUN")
    port = free_port()
    program, *arguments = json.loads(given["CMD"])
    assert program == "newel"
    home = given["WORKDIR"]
    (place / "data").mkdir()
    command = newel(*(one.replace(home, str(place)) for one in arguments), "--port", str(port))
    check = shlex.split(given["HEALTHCHECK"].partition("CMD ")[2].replace("8000", str(port)))
    check[0] = sys.executable
    with running(command, place):
        answers(f"http://127.0.0.1:{port}")
        assert subprocess.run(check, cwd=place).returncode == 0
    assert subprocess.run(check, cwd=place, stderr=subprocess.DEVNULL).returncode != 0


def test_the_unit_is_right(tmp_path: Path) -> None:
    text = block("ini", "[Unit]")
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    service = unit["Service"]
    program, *arguments = shlex.split(service["ExecStart"])
    assert program.endswith("/newel")
    drain = 30
    assert int(service["TimeoutStopSec"]) > drain + 5
    done = subprocess.run(newel(arguments[0], "--help"), capture_output=True, text=True)
    assert all(one in done.stdout for one in arguments if one.startswith("--"))
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        return  # what is read above is all that can be said without it
    (tmp_path / "agents.service").write_text(text.replace(program, sys.executable))
    checked = subprocess.run([analyze, "verify", tmp_path / "agents.service"], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")
