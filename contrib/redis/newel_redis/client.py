"""The client of a Redis: the URL checked, its connections bounded, no waiting beyond its patience."""

from __future__ import annotations

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from newel_kernel import ConfigurationError


def client_of(url: str, patience: float) -> Redis:
    """A client that connects with its first command; it belongs to the event loop that then runs."""
    try:
        return Redis.from_url(
            url, socket_timeout=patience, socket_connect_timeout=patience, retry=Retry(NoBackoff(), 0),
            max_connections=8,
        )  # fmt: skip
    except ValueError:  # its text may quote the password
        raise ConfigurationError(
            "the URL is no URL of a Redis: write redis://[USER:PASSWORD@]HOST[:PORT][/NUMBER], with "
            "%23 for # and %2F for / in a password, and options that redis-py knows"
        ) from None
