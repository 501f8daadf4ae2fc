"""The client of a Redis: the URL checked, its connections bounded, no waiting beyond its patience."""

from __future__ import annotations

import asyncio

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from newel_kernel import ConfigurationError

#: How long a Redis that did not answer is left alone, in seconds.
REST = 5.0
#: What is raised where Redis does not answer.
FAILURES = (RedisError, OSError, TimeoutError, asyncio.IncompleteReadError)
#: How often a connection that only listens is asked whether it is there, in seconds.
_CHECKED = 15


def client_of(url: str, patience: float, *, watched: bool = False) -> Redis:
    """A client that connects with its first command, and belongs to the event loop that then runs.

    Where its connections are `watched`, one that hears nothing asks now and then whether its server is there.
    """
    try:
        client = Redis.from_url(
            url, socket_timeout=patience, socket_connect_timeout=patience, retry=Retry(NoBackoff(), 0),
            max_connections=8, health_check_interval=_CHECKED if watched else 0,
        )  # fmt: skip
        # An option that it does not know is told now.
        client.connection_pool.make_connection()  # type: ignore[no-untyped-call]
    except (ValueError, TypeError):  # the text may quote the password
        raise ConfigurationError(
            "the URL is no URL of a Redis: write redis://[USER:PASSWORD@]HOST[:PORT][/NUMBER], with "
            "%23 for # and %2F for / in a password, and options that redis-py knows"
        ) from None
    return client
