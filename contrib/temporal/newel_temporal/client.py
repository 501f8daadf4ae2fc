"""The client of Temporal: no call waits without end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.service import RetryConfig, RPCError, RPCStatusCode

from newel.engines import EngineUnavailableError
from newel_kernel import ConfigurationError
from newel_temporal.address import Address
from newel_temporal.encryption import Encryption

T = TypeVar("T")
#: A call is tried again this long after a failure at most; how often does not matter, as its time is limited.
_BETWEEN = timedelta(seconds=1)
#: CANCELLED is what the client says of a call whose own time is over.
_AWAY = (
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.RESOURCE_EXHAUSTED,
    RPCStatusCode.CANCELLED,
)
#: Signs in what the client says, and what they mean.
_REASONS = {
    "dns error": "its name has no address",
    "Connection refused": "nothing listens there",
    "certificate": "its certificate is not trusted",
    "transport error": "what listens there does not speak Temporal's protocol",
    "limit exceeded": "it has too much to do",
}
_REMEDY = (
    "check host, port and tls in its address (`services: engine`), and that the server runs "
    "(`temporal server start-dev` starts one)"
)


class TemporalUnavailableError(EngineUnavailableError):
    """Temporal did not answer in time. What was asked for may have happened; it may be asked for again."""


async def client_of(address: Address) -> Client:
    """A client that is connected, and connects again whenever it has to."""
    converter = DataConverter.default
    if address.encryption:
        converter = replace(converter, payload_codec=Encryption(os.environ[address.encryption].split(",")))
    return await Client.connect(
        address.host,
        namespace=address.namespace,
        tls=address.tls or None,
        api_key=os.environ[address.api_key] if address.api_key else None,
        data_converter=converter,
        retry_config=RetryConfig(max_interval_millis=int(_BETWEEN.total_seconds() * 1000), max_retries=1000),
    )


@asynccontextmanager
async def bounded(address: Address) -> AsyncIterator[None]:
    """Calls that together wait at most `address.patience` seconds; TemporalUnavailableError after that."""
    away = f"Temporal at {address.host} did not answer within {address.patience:g} s"
    try:
        async with asyncio.timeout(address.patience):
            yield
    except TimeoutError as error:
        raise TemporalUnavailableError(f"{away}; {_REMEDY}") from error
    except RPCError as error:
        if error.status in _AWAY:
            raise TemporalUnavailableError(f"{away}{_reason(error.message)}; {_REMEDY}") from error
        if error.status in (RPCStatusCode.UNAUTHENTICATED, RPCStatusCode.PERMISSION_DENIED):
            raise ConfigurationError(f"Temporal at {address.host} refuses this client: {error.message}") from error
        if _lacks_namespace(error):
            raise ConfigurationError(
                f"Temporal at {address.host} has no namespace {address.namespace!r}: correct namespace= in its "
                f"address, or make it (`temporal operator namespace create`)"
            ) from error
        raise
    except RuntimeError as error:  # the client's way to say that it could not connect
        text = f"Temporal at {address.host} cannot be reached{_reason(str(error))}; {_REMEDY}"
        raise TemporalUnavailableError(text) from error


def is_missing(error: RPCError) -> bool:
    """Whether it says that there is no such run; there may be no such namespace, either."""
    return error.status == RPCStatusCode.NOT_FOUND and not _lacks_namespace(error)


def _lacks_namespace(error: RPCError) -> bool:
    return error.status == RPCStatusCode.NOT_FOUND and error.message.startswith("Namespace ")


def _reason(text: str) -> str:
    """What is wrong, in words: the client's own are a structure of its transport's errors."""
    return next((f": {words}" for sign, words in _REASONS.items() if sign in text), "")


async def answered(address: Address, call: Awaitable[T]) -> T:
    """The answer to a call; see `bounded`."""
    async with bounded(address):
        return await call
