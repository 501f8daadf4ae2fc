"""The address of Temporal, and the plugin that opens it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import NoReturn, cast

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode
from tests.contrib.temporal.servers import a_spec

import newel_temporal.plugin
from newel.engines import EngineBackend
from newel_compose import compose
from newel_kernel import ConfigurationError
from newel_temporal import Address, TemporalEngine
from newel_temporal.client import TemporalUnavailableError, bounded


def test_an_address_says_where_temporal_is_and_how_its_runs_are_kept() -> None:
    assert Address.of("temporal://localhost") == Address(host="localhost:7233")
    assert Address.of("temporal://t:1?namespace=shop&lease=3&tls=true&attempts=2&per_second=1.5&steps=true") == Address(
        host="t:1", namespace="shop", lease=3, tls=True, attempts=2, per_second=1.5, steps=True
    )


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("temporal://", "not an address"),
        ("temporal://h/path", "not an address"),
        ("temporal://h:many", "not an address"),
        ("temporal://[h", "not an address"),
        ("redis://h", "not an address"),
        ("temporal://u:secret@h", "no password"),
        ("temporal://h?leese=3", "'leese' is not a parameter"),
        ("temporal://h?lease=soon", "lease='soon'"),
        ("temporal://h?steps=some", "steps='some'"),
        ("temporal://h?lease=0&beat=-1", "lease=0.*beat=-1"),
        ("temporal://h?lease=inf", "lease=inf"),
        ("temporal://h?encryption=NO_SUCH_VARIABLE", "NO_SUCH_VARIABLE"),
    ],
)
def test_a_wrong_address_is_refused_in_words(uri: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        Address.of(uri)
    assert "secret" not in str(caught.value)


def test_a_distribution_opens_the_engine_by_its_scheme() -> None:
    composed = compose("standard", plugins=[newel_temporal.plugin])
    engine = composed.open_service(EngineBackend, "temporal://127.0.0.1:7233?namespace=shop")
    assert isinstance(engine, TemporalEngine)
    assert engine.address.namespace == "shop"


def test_the_plugin_imports_no_sdk() -> None:
    code = "import sys, newel_temporal.plugin as p; p.register_engine_backends(); print('temporalio' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def test_a_spec_of_long_names_fits_temporals_limits() -> None:
    spec = a_spec(tenant="t" * 200, session_id="s" * 400)
    action = TemporalEngine().action(spec)
    assert action.priority.fairness_key is not None
    assert len(action.priority.fairness_key) <= 64


def test_a_call_whose_time_is_over_says_that_temporal_did_not_answer() -> None:
    async def main() -> None:
        async with bounded(Address()):
            raise RPCError("Timeout expired", RPCStatusCode.CANCELLED, b"")

    with pytest.raises(TemporalUnavailableError, match=r"did not answer within 10 s; check"):
        asyncio.run(main())


def test_many_submissions_at_once_take_turns() -> None:
    """So that one which waits for others is not taken for a server that does not answer."""
    now: list[int] = []
    most: list[int] = []

    class Counting(TemporalEngine):
        async def _start(self, *_: object) -> NoReturn:
            now.append(1)
            most.append(len(now))
            await asyncio.sleep(0)
            now.pop()
            raise TemporalUnavailableError("away")

    async def main() -> list[object]:
        engine = Counting(client=cast("Client", object()))
        submissions = [engine.submit(a_spec(invocation_id=f"e-{number}")) for number in range(200)]
        return await asyncio.gather(*submissions, return_exceptions=True)

    assert all(isinstance(one, TemporalUnavailableError) for one in asyncio.run(main()))
    assert max(most) == 50
