"""model_conformance: checks that a model provider gets a protocol right, through its real SDK.

def make(base_url: str, name: str) -> BaseLlm:
    return MyModel(model=name, base_url=base_url, api_key=WIRE_KEY)

model_conformance(make, protocol="openai")
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial

from newel_testkit.wire import checks
from newel_testkit.wire.bench import Bench, MakeModel, Place
from newel_testkit.wire.calls_at_once import check_requests_at_once, check_stream_comes_at_once
from newel_testkit.wire.faults import FAULTS
from newel_testkit.wire.kit_answers import kit_answers
from newel_testkit.wire.requests import wire_requests
from newel_testkit.wire.server import Wire

#: What the names of the checks begin with.
PARTS = ("request", "answer", "fault", "connection")


def model_checks(
    make: MakeModel,
    *,
    protocol: str | Callable[[], Wire],
    unsayable: Collection[str] = (),
    abandoned: int = 20,
) -> Mapping[str, Callable[[], None]]:
    """The checks of a provider by name: each is called outside of an event loop, and raises AssertionError.

    `make` makes a model for a base URL and a name; the model must send `WIRE_KEY` as its key. `protocol` is
    ``anthropic``, ``openai``, ``openai-responses``, ``compatible`` or ``gemini``, or makes a `Wire` of your own. A
    model may leave out what its capabilities do not claim, if it says so, or refuse it with a ModelError. `unsayable`
    are kinds of losses (`newel_testkit.wire.losses`) that its SDK cannot express; `abandoned` is how many streams are
    left early.
    """
    bench = Bench(make, protocol, frozenset(unsayable))
    name = protocol if isinstance(protocol, str) else protocol().name
    checks = {**dict(_requests(name)), **dict(_answers(name)), **dict(_faults()), **dict(_connections(abandoned))}
    return {name: partial(_run, bench, check) for name, check in checks.items()}


def model_conformance(
    make: MakeModel,
    *,
    protocol: str | Callable[[], Wire],
    unsayable: Collection[str] = (),
    abandoned: int = 20,
) -> None:
    """Run every check of `model_checks`; one AssertionError names all that fail."""
    checks = model_checks(make, protocol=protocol, unsayable=unsayable, abandoned=abandoned)
    run_checks(checks)


def run_checks(checks: Mapping[str, Callable[[], None]], part: str = "") -> None:
    """Run checks, or those of one of the `PARTS`; one AssertionError names all that fail."""
    checks = {name: check for name, check in checks.items() if name.startswith(part)}
    failed = []
    for name, check in checks.items():
        try:
            check()
        except Exception as error:  # noqa: BLE001 - a provider's own errors; all are reported together
            failed.append(f"{name}: {type(error).__name__}: {error}")
    if failed:
        raise AssertionError(f"the provider fails {len(failed)} of {len(checks)} checks:\n" + "\n".join(failed))


_Check = Callable[[Place], None]


def _run(bench: Bench, check: _Check) -> None:
    with bench.serving() as place:
        check(place)


def _requests(protocol: str) -> Iterator[tuple[str, _Check]]:
    protocol_name = "openai" if protocol == "compatible" else protocol
    for name, case in wire_requests().items():
        if not case.only or protocol_name in case.only:
            yield f"request {name}", partial(checks.check_request, case=case)


def _answers(protocol: str) -> Iterator[tuple[str, _Check]]:
    for name, answer in kit_answers(protocol).items():
        for stream in (False, True):
            how = "streamed" if stream else "whole"
            yield f"answer {name} {how}", partial(checks.check_answer, answer=answer, stream=stream)


def _faults() -> Iterator[tuple[str, _Check]]:
    for name, fault in FAULTS.items():
        for stream in (False, True):
            if stream or not fault.within:
                how = "streamed" if stream else "whole"
                yield f"fault {name} {how}", partial(checks.check_fault, kind=fault, stream=stream)
        if fault.passes:
            yield f"fault {name} outlived", partial(checks.check_recovery, kind=fault)


def _connections(abandoned: int) -> Iterator[tuple[str, _Check]]:
    yield "connection kept", partial(checks.check_one_connection, stream=False)
    yield "connection kept by streams", partial(checks.check_one_connection, stream=True)
    yield "connection shared by requests at once", check_requests_at_once
    yield "connection read as it comes", check_stream_comes_at_once
    yield "connection closed when cancelled", checks.check_cancellation
    yield "connections of abandoned streams", partial(checks.check_abandoned, streams=abandoned)
