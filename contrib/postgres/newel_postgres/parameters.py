"""Parameters: those of a database's URL, as providers give them, for a driver that knows some of them only."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from newel_kernel import ConfigurationError

#: Spellings of other drivers, and what libpq says for them; None: it needs nothing.
_SSL = {
    **dict.fromkeys(("true", "1", "on", "yes", "require"), "require"),
    **dict.fromkeys(("false", "0", "off", "no", "disable"), "disable"),
    **{mode: mode for mode in ("allow", "prefer", "verify-ca", "verify-full")},
}
_TRUE = ("1", "true", "on", "yes")
#: Parameters of libpq's that change nothing for this driver, or only how a pooled client of another kind works.
_WITHOUT_EFFECT = frozenset(
    (
        "connection_limit",
        "fallback_application_name",
        "gssdelegation",
        "gssencmode",
        "pool_timeout",
        "pool_mode",
        "sslcompression",
        "sslsni",
        "supa",
        "uselibpqcompat",
    )
)
#: Parameters that say something which the driver cannot keep, and what to do instead.
_REFUSED = {
    "hostaddr": "put the address in place of the host",
    "load_balance_hosts": "give one host, or a balancer's",
    "replication": "the store needs a usual connection",
    "require_auth": "let the server's pg_hba.conf say how its users prove who they are",
    "requirepeer": "connect over TLS with sslmode=verify-full",
    "sslcertmode": "leave it out: a certificate is sent if sslcert and sslkey name one",
}
_SOCKET = {
    "keepalives_idle": "TCP_KEEPIDLE",
    "keepalives_interval": "TCP_KEEPINTVL",
    "keepalives_count": "TCP_KEEPCNT",
    "tcp_user_timeout": "TCP_USER_TIMEOUT",
}


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a URL's parameters ask for."""

    #: Those that the driver, or the server, takes by itself.
    passed: tuple[tuple[str, str], ...] = ()
    #: Seconds that connecting may take; None: the store's own limit.
    connect_seconds: float | None = None
    #: A proxy that shares its connections lies between.
    proxy: bool = False
    #: (level, option, value) for the connection's socket.
    socket_options: tuple[tuple[int, int, int], ...] = ()


@dataclass(slots=True)
class _Reading:
    """A URL's parameters while they are read."""

    kind: str
    found: Parameters = field(default_factory=Parameters)

    def number(self, name: str, value: str) -> int:
        try:
            return int(value)
        except ValueError:
            raise self.refusal(name, value, "give a whole number") from None

    def refusal(self, name: str, value: str, remedy: str) -> ConfigurationError:
        return ConfigurationError(
            f"the URL of the {self.kind} says {name}={value}, which cannot be kept here: {remedy}"
        )

    def passes(self, name: str, value: str) -> None:
        self.found = replace(self.found, passed=(*self.found.passed, (name, value)))

    def sets(self, level: int, option: int, value: int) -> None:
        self.found = replace(self.found, socket_options=(*self.found.socket_options, (level, option, value)))


def parameters_of(given: Sequence[tuple[str, str]], kind: str) -> Parameters:
    """Read a URL's parameters; ConfigurationError, with the remedy, for what cannot be kept. `kind` names the store."""
    reading = _Reading(kind)
    for name, value in given:
        if name in _REFUSED:
            raise reading.refusal(name, value, _REFUSED[name])
        if name in _WITHOUT_EFFECT or value == "":
            continue
        _READERS.get(name, _Reading.passes)(reading, name, value)
    return reading.found


def _ssl(reading: _Reading, name: str, value: str) -> None:
    if (mode := _SSL.get(value.lower())) is None:
        modes = "disable, allow, prefer, require, verify-ca or verify-full"
        raise reading.refusal(name, value, f"say sslmode={modes}")
    reading.passes("sslmode", mode)


def _channel_binding(reading: _Reading, name: str, value: str) -> None:
    if value not in ("prefer", "disable"):
        remedy = (
            "the driver, asyncpg, cannot bind channels; leave it out and say sslmode=verify-full (with sslrootcert if "
            "the server's certificate is not a public one), which keeps others from standing between as well"
        )
        raise reading.refusal(name, value, remedy)


def _connect_timeout(reading: _Reading, name: str, value: str) -> None:
    seconds = reading.number(name, value)
    if seconds > 0:  # libpq's 0 sets none: the store's own limit holds
        reading.found = replace(reading.found, connect_seconds=float(seconds))


def _keepalives(reading: _Reading, name: str, value: str) -> None:
    reading.sets(socket.SOL_SOCKET, socket.SO_KEEPALIVE, int(reading.number(name, value) != 0))


def _socket_option(reading: _Reading, name: str, value: str) -> None:
    number = reading.number(name, value)
    option = getattr(socket, _SOCKET[name], None)
    if option is not None and number > 0:  # 0 is the system's default; a system without the option has one, too
        reading.sets(socket.IPPROTO_TCP, option, number)


def _pgbouncer(reading: _Reading, name: str, value: str) -> None:
    reading.found = replace(reading.found, proxy=reading.found.proxy or value.lower() in _TRUE)


def _cache_size(reading: _Reading, name: str, value: str) -> None:
    reading.found = replace(reading.found, proxy=reading.found.proxy or reading.number(name, value) == 0)


def _encoding(reading: _Reading, name: str, value: str) -> None:
    if value.lower().replace("-", "") not in ("utf8", "auto", "unicode"):
        raise reading.refusal(name, value, "texts are sent as UTF-8: leave it out")


_Reader: TypeAlias = Callable[[_Reading, str, str], None]
_READERS: Mapping[str, _Reader] = {
    "channel_binding": _channel_binding,
    "client_encoding": _encoding,
    "connect_timeout": _connect_timeout,
    "keepalives": _keepalives,
    **dict.fromkeys(_SOCKET, _socket_option),
    "pgbouncer": _pgbouncer,
    "prepared_statement_cache_size": _cache_size,
    "ssl": _ssl,
    "sslmode": _ssl,
    "statement_cache_size": _cache_size,
}
