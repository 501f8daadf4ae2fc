"""A database of the tests' own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.contrib.dbos.working import HOST

from newel_dbos.access import access_of
from newel_dbos.book import Book


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """The name of a database of this process."""
    import psycopg

    name = f"newel_dbos_{os.getpid()}"
    try:
        server = psycopg.connect(host=HOST, user="postgres", dbname="postgres", autocommit=True)
    except psycopg.OperationalError as error:
        pytest.skip(f"no PostgreSQL server can be reached: {error}")
    with server:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {name}")
    yield name
    with psycopg.connect(host=HOST, user="postgres", dbname="postgres", autocommit=True) as server:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def uri(database: str) -> str:
    """The URI of an engine. Tests share the tables, and have apps of their own."""
    return f"dbos://postgres@{HOST}/{database}?poll=0.1&heartbeat=3"


@pytest.fixture
def book(uri: str) -> Iterator[Book]:
    """What a process of its own has of the tables, without an event loop."""
    book = Book(access_of(uri), connections=2)
    book.prepare()
    yield book
    book.close()
