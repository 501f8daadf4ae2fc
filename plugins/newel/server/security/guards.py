"""Guards: the settings of the server's security, and the rule for the address that it listens on."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from newel_kernel import ConfigurationError

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Who may ask, from where, and with what."""

    #: What every request must carry, as ``Authorization: Bearer TOKEN`` or as the cookie that it was traded for; None:
    #: nobody is asked.
    token: str | None = None
    #: Hosts by which the server may be called, other than loopback's names and the address that it listens on.
    hosts: tuple[str, ...] = ()
    #: Origins of pages elsewhere that may call the server; ``*`` is any, ``regex:...`` a pattern.
    origins: tuple[str, ...] = ()
    #: Addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.
    proxies: tuple[str, ...] = ()
    #: The most bytes of a request's body.
    max_body: int = 16 * MEGABYTE
    #: Seconds until a request's head must be there, and for which its body may stop.
    seconds: float = 15.0
    #: The most connections at a time.
    connections: int = 1000


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def check_address(host: str, is_local: bool, guards: Guards, *, has_user_of: bool = False) -> None:
    """Refuse to listen where others can call and nobody is asked who they are."""
    if is_local or not host or guards.token is not None or has_user_of:
        return
    raise ConfigurationError(
        f"--no-token is for this machine only, and --host {host} lets others call: leave out --no-token, or set "
        f"server.user_of in the distribution, or listen on 127.0.0.1"
    )


def check_builder(builder: bool, guards: Guards, *, has_user_of: bool = False) -> None:
    """Refuse to let agent files be written by whoever calls."""
    if builder and guards.token is None and not has_user_of:
        raise ConfigurationError("--builder lets callers write agent files: leave out --no-token")
