"""The client of a Redis: its URL is checked, its connections and its waits are bounded."""

from __future__ import annotations

import asyncio

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from newel_kernel import ConfigurationError

#: How long a Redis that did not answer is left alone, in seconds.
REST = 5.0
#: The errors that are raised when Redis does not answer.
FAILURES = (RedisError, OSError, TimeoutError, asyncio.IncompleteReadError)
#: How often a connection that only listens is checked, in seconds.
_CHECKED = 15


def client_of(url: str, patience: float, *, watched: bool = False) -> Redis:
    """A client that connects with its first command, and belongs to the event loop that runs at that time.

    With `watched`, a connection that hears nothing checks now and then whether its server still answers.
    """
    try:
        client = Redis.from_url(
            url,
            socket_timeout=patience,
            socket_connect_timeout=patience,
            retry=Retry(NoBackoff(), 0),
            max_connections=8,
            health_check_interval=_CHECKED if watched else 0,
        )
        # This reports an unknown option now.
        client.connection_pool.make_connection()  # type: ignore[no-untyped-call]
    except (ValueError, TypeError):  # the text may quote the password
        raise ConfigurationError(
            "this is not a Redis URL: write redis://[USER:PASSWORD@]HOST[:PORT][/NUMBER], with "
            "%23 for # and %2F for / in a password, and options that redis-py knows"
        ) from None
    return client
