"""Client: the SDK's client of Anthropic's API or of Vertex AI, and one request through it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from newel.models.wire.addresses import base_url_of
from newel.models.wire.clients import Client, http_client
from newel.models.wire.keys import plain_key
from newel.models.wire.limits import Limits, offline_reason
from newel.models.wire.secrets import environment_headers, header_secrets
from newel.models.wire.service import Service
from newel_kernel import Json, ModelError

HTTP = "httpx2"
_END = "message_stop"
#: Seconds to wait for the end of a stream that has sent its last event.
_DRAIN = 1.0
_KEY, _TOKEN = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"
#: Other variables from which the SDK takes credentials.
_OTHERS = ("ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_IDENTITY_TOKEN_FILE")
_PROJECTS = ("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT")
_REGIONS = ("CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION")


class Sdk(Protocol):
    """The SDK's asynchronous client. A request is posted unchanged.

    Its `messages.create` knows fewer parameters than the service, and warns of models and settings in its own way.
    """

    async def post(self, path: str, **options: Any) -> Any:
        """Send one request."""


Connection: TypeAlias = tuple[Sdk, Any, Service]


def is_configured() -> bool:
    """Whether the environment, or a profile of the SDK, has credentials."""
    return any(os.environ.get(name, "").strip() for name in (_KEY, _TOKEN, *_OTHERS)) or _profiles().is_dir()


def check(model: str) -> None:
    """Raise a ModelError that names the remedy if the SDK is missing."""
    if find_spec("anthropic") is None:
        raise ModelError(
            f"the model {model!r} needs the anthropic SDK, which is not installed:\npip install 'newel[anthropic]'"
        )


def check_key(model: str) -> None:
    """Raise a ModelError that names the remedy if no credentials are set, or a key cannot be one."""
    if not is_configured():
        raise _no_key(model)
    environment_key(model, _KEY) or environment_key(model, _TOKEN)


def environment_key(model: str, variable: str) -> str | None:
    """The key in a variable of the environment; raises ModelError if it cannot be a key."""
    return plain_key(os.environ.get(variable, ""), model, variable) or None


def direct(model: str, key: str | None, base_url: str | None, limits: Limits, provider: str) -> Connection:
    """A client of Anthropic's API. Without `key`, the environment and the SDK's profiles are asked."""
    sdk = _sdk(model)
    key = key or environment_key(model, _KEY)
    token = None if key else environment_key(model, _TOKEN)
    if not key and not token:
        check_key(model)
    headers = header_secrets(environment_headers("ANTHROPIC_CUSTOM_HEADERS"))
    service = Service(provider, model, (*filter(None, (key, token)), *headers))
    base_url = base_url_of(model, base_url, "ANTHROPIC_BASE_URL")
    http = http_client(HTTP, service, limits)
    try:
        client = sdk.AsyncAnthropic(
            api_key=key, auth_token=token, base_url=base_url, http_client=http, **_plain_options(limits)
        )
    except Exception as error:  # the SDK reads profiles
        raise ModelError(f"the model {model!r} has no credentials ({error}); set {_KEY}") from error
    if client.api_key is None and client.auth_token is None and client.credentials is None:
        raise _no_key(model)
    return client, http, service


def vertex(
    model: str, project: str | None, region: str | None, token: str | None, base_url: str | None, limits: Limits
) -> Connection:
    """A client of Vertex AI. Without `token`, Google's default credentials are used."""
    sdk = _sdk(model)
    project, region = project or _first(_PROJECTS), region or _first(_REGIONS)
    if not project or not region:
        raise ModelError(
            f"the model {model!r} runs on Vertex AI and needs a project and a region: set GOOGLE_CLOUD_PROJECT and "
            "GOOGLE_CLOUD_LOCATION"
        )
    if token is None and find_spec("google.auth") is None:
        raise ModelError(f"the model {model!r} needs google-auth:\npip install 'newel[anthropic,auth]'")
    service = Service("anthropic", model, tuple(filter(None, (token,))))
    if token is None and (reason := offline_reason("googleapis.com")):  # the credentials are fetched by another client
        raise service.failed("OFFLINE", reason)
    http = http_client(HTTP, service, limits)
    client = sdk.AsyncAnthropicVertex(
        project_id=project,
        region=region,
        access_token=token,
        base_url=base_url,
        http_client=http,
        **_plain_options(limits),
    )
    return client, http, service


@dataclass(frozen=True, slots=True)
class Call:
    """One request: its body, limits and headers."""

    client: Client[Sdk]
    service: Service
    body: Json
    limits: Limits
    headers: Mapping[str, str]

    async def whole(self) -> Any:
        """The answer in one piece."""
        async with self._sent(self.body) as response:
            with self.service.translated():
                content = await response.aread()
            try:
                return json.loads(content)
            except ValueError as error:
                raise self.service.malformed(f"not JSON: {content[:200].decode('utf-8', 'replace')}") from error

    async def events(self) -> AsyncGenerator[Any, None]:
        """The events of a streamed answer. Closing the generator closes the HTTP response."""
        decoder = import_module("anthropic").AsyncStream
        body = {**self.body, "stream": True}
        async with self._sent(body) as response, aclosing(decoder.raw_events(response)) as events:
            with self.service.answering():
                async for event in events:
                    if not event.data:
                        continue
                    parsed = self._parsed(event.data)
                    yield parsed
                    if isinstance(parsed, dict) and parsed.get("type") == _END:
                        await _drain(events)
                        return

    def _parsed(self, data: str) -> Any:
        try:
            return json.loads(data)
        except ValueError as error:
            raise self.service.malformed(f"an event that is not JSON: {data[:200]}") from error

    @asynccontextmanager
    async def _sent(self, body: Json) -> AsyncIterator[Any]:
        """The HTTP response to `body`, unread; it is closed on leaving."""
        sdk, http = import_module("anthropic"), import_module(HTTP)
        options = {"timeout": self.limits.timeout(HTTP), "headers": dict(self.headers), "max_retries": 0}
        with self.service.translated(), _credentials(self.service):
            response = await self.client.sdk.post(
                "/v1/messages",
                cast_to=http.Response,
                body=body,
                options=options,
                stream=True,
                stream_cls=sdk.AsyncStream[object],
            )
        try:
            yield response
        finally:
            await response.aclose()


@contextmanager
def _credentials(service: Service) -> Iterator[None]:
    """Name the remedy if the SDK, or Google's library beneath it, finds no credentials; they look at a request."""
    try:
        yield
    except Exception as error:
        name, place = type(error).__name__, type(error).__module__
        if not place.startswith("google.auth") and "Credentials" not in name:
            raise
        remedy = "run 'gcloud auth application-default login'" if place.startswith("google.auth") else f"set {_KEY}"
        raise ModelError(
            f"{service.provider} ({service.model}) has no credentials ({name}); {remedy}",
            code="NO_CREDENTIALS",
            provider=service.provider,
            model=service.model,
            remedy=remedy,
        ) from error


async def _drain(events: AsyncGenerator[Any, None]) -> None:
    """Read the stream to its end. Nothing follows the last event, but otherwise the connection cannot be reused."""
    with suppress(Exception):
        async with asyncio.timeout(_DRAIN):
            async for _ in events:
                pass


def _sdk(model: str) -> Any:
    check(model)
    sdk = import_module("anthropic")
    if int(sdk.__version__.partition(".")[0]) < 2:
        raise ModelError(
            f"the model {model!r} needs anthropic 2 or later, and {sdk.__version__} is installed:\n"
            "pip install --upgrade 'newel[anthropic]'"
        )
    return sdk


def _plain_options(limits: Limits) -> Json:
    """One attempt, no spans of the SDK's own."""
    return {"max_retries": 0, "open_telemetry": False, "timeout": limits.timeout(HTTP)}


def _no_key(model: str) -> ModelError:
    return ModelError(
        f"the model {model!r} needs an API key: set {_KEY}; https://console.anthropic.com/settings/keys gives one"
    )


def _first(names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)


def _profiles() -> Path:
    """Where the SDK keeps profiles."""
    return Path(os.environ.get("ANTHROPIC_CONFIG_DIR") or Path.home() / ".config" / "anthropic")
