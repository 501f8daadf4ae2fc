"""A PostgreSQL URL works as providers give it, or an error says what to change in it."""

from __future__ import annotations

import asyncio
import itertools
import socket
from urllib.parse import parse_qs, urlencode, urlsplit

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from newel_kernel import ConfigurationError
from newel_postgres.access import Access, access_of
from newel_postgres.database import PostgresPool

BASE = "postgresql://ann:pw@db.example:5432/agents"
#: What hosting providers and the tools around them print, each with what is left for the driver.
PROVIDERS: dict[str, tuple[str, dict[str, str]]] = {
    "heroku": ("sslmode=require", {"sslmode": "require"}),
    "neon, loose": ("sslmode=require&channel_binding=prefer", {"sslmode": "require"}),
    "supabase": ("pgbouncer=true&connection_limit=1", {}),
    "prisma": ("schema=public&connect_timeout=10&pool_timeout=10", {}),
    "sqlalchemy": ("ssl=require&prepared_statement_cache_size=0", {"sslmode": "require"}),
    "digital ocean": ("sslmode=require", {"sslmode": "require"}),
    "render": ("ssl=true", {"sslmode": "require"}),
    "libpq": (
        "connect_timeout=5&keepalives=1&keepalives_idle=30&keepalives_interval=10&keepalives_count=3&application_name=x",
        {"application_name": "x"},
    ),
    "gss": ("gssencmode=disable&target_session_attrs=read-write", {"target_session_attrs": "read-write"}),
    "options": ("options=endpoint%3Dx&client_encoding=utf8", {"options": "endpoint=x"}),
}


def read(query: str) -> Access:
    return access_of(f"{BASE}?{query}", "", 4, False, 15.0, "session store")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_providers_print_is_understood(provider: str) -> None:
    query, passed = PROVIDERS[provider]
    access = read(query)
    assert {name: values[0] for name, values in parse_qs(urlsplit(access.url).query).items()} == passed
    assert access.proxy == ("pgbouncer" in query or "cache_size=0" in query)
    assert access.connect_seconds == {"prisma": 10.0, "libpq": 5.0}.get(provider, 15.0)
    assert len(access.socket_options) == query.count("keepalives")


@given(st.lists(st.sampled_from(sorted(itertools.chain(*(q.split("&") for q, _ in PROVIDERS.values())))), unique=True))
def test_any_mixture_is_understood(pairs: list[str]) -> None:
    query = urlsplit(read("&".join(pairs)).url).query
    asyncpg_own = {"sslmode", "application_name", "options", "target_session_attrs"}
    assert set(parse_qs(query)) <= asyncpg_own


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("channel_binding=require", "channel_binding=require.*sslmode=verify-full"),
        ("sslmode=no-verify", "sslmode=no-verify.*verify-full"),
        ("connect_timeout=soon", "connect_timeout=soon.*a whole number"),
        ("keepalives_idle=x", "keepalives_idle=x.*a whole number"),
        ("client_encoding=latin1", "client_encoding=latin1.*UTF-8"),
        ("hostaddr=10.0.0.1", "hostaddr.*in place of the host"),
        ("require_auth=scram-sha-256", "require_auth"),
    ],
)
def test_what_cannot_be_kept_is_named_with_the_remedy_and_without_the_password(query: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        read(query)
    assert "pw" not in str(caught.value).replace("newel_pw", "")


@pytest.mark.parametrize("value", [0, 1, 40])
def test_connecting_takes_no_longer_than_the_store_waits(value: int) -> None:
    assert read(urlencode({"connect_timeout": value})).connect_seconds == {0: 15.0, 1: 1.0, 40: 15.0}[value]


def test_options_of_the_socket_are_set_on_a_connection() -> None:
    pool = PostgresPool.__new__(PostgresPool)
    pool._access = read("keepalives=1&keepalives_idle=33")
    with socket.socket() as used:
        transport = type("Transport", (), {"get_extra_info": lambda self, name: used})()
        asyncio.run(pool._configure(type("Connected", (), {"_transport": transport})()))
        assert used.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert used.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 33


def test_the_driver_has_the_transport_that_the_options_need() -> None:
    assert "_transport" in asyncpg.Connection.__slots__
