"""Options of the server's commands that say who may ask, from where, and with what."""

from __future__ import annotations

import click

from newel.server.security.guards import MEGABYTE, Guards, new_token
from newel_kernel import ConfigurationError

_DEFAULT = Guards()
#: Decorators, the last option first.
GUARD_OPTIONS = (
    click.option(
        "--max-connections",
        type=click.IntRange(2),
        default=_DEFAULT.connections,
        show_default=True,
        help="The most connections at a time.",
    ),
    click.option(
        "--max-body",
        type=click.IntRange(1),
        default=_DEFAULT.max_body // MEGABYTE,
        show_default=True,
        metavar="MB",
        help="The most megabytes of a request's body.",
    ),
    click.option(
        "--proxy",
        "proxies",
        multiple=True,
        metavar="ADDRESS",
        help="A proxy whose X-Forwarded-For and X-Forwarded-Proto are believed; may be repeated.",
    ),
    click.option(
        "--allow-origins",
        "--allow_origins",
        "origins",
        multiple=True,
        metavar="ORIGIN",
        help="A page elsewhere that may call, such as https://my.example, regex:PATTERN or *; may be repeated.",
    ),
    click.option(
        "--allow-host",
        "hosts",
        multiple=True,
        metavar="NAME",
        help="A name by which the server may be called, other than localhost and --host; may be repeated.",
    ),
    click.option("--no-token", is_flag=True, help="Ask nobody for a token; on this machine only."),
    click.option(
        "--token",
        envvar="NEWEL_SERVER_TOKEN",
        metavar="TOKEN",
        help="What every request must carry; by default a new one, printed at the start.",
    ),
)


def guards_of(
    *,
    token: str | None,
    no_token: bool,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    proxies: tuple[str, ...],
    max_body: int,
    max_connections: int,
    has_user_of: bool,
) -> Guards:
    """The guards that the options ask for. Where `server.user_of` says who calls, no token is needed."""
    if token is not None and no_token:
        raise ConfigurationError("give either --token or --no-token, not both")
    if token is not None and (len(token) < 16 or not token.isascii() or not token.isprintable() or " " in token):
        raise ConfigurationError("--token needs at least 16 printable ASCII characters without spaces")
    if token is None and not no_token and not has_user_of:
        token = new_token()
    return Guards(
        token=token,
        hosts=hosts,
        origins=origins,
        proxies=proxies,
        max_body=max_body * MEGABYTE,
        connections=max_connections,
    )
