"""Which logs stay in memory: a number of them, or more while they are small."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from newel.sessions.event_log import EventLog, LiveLogs
from newel_kernel import Event


def log_of(number: int, events: int) -> EventLog:
    log = EventLog((), number)
    log.grow(0, [Event(author="a") for _ in range(events)])
    return log


def kept(logs: LiveLogs, count: int) -> list[int]:
    return [number for number in range(count) if logs.get(("app", "u", str(number))) is not None]


def fill(logs: LiveLogs, count: int, events: int) -> None:
    for number in range(count):
        logs.keep(("app", "u", str(number)), log_of(number, events))


def test_small_logs_all_stay() -> None:
    logs = LiveLogs()
    fill(logs, 600, events=4)
    assert kept(logs, 600) == [*range(600)]


def test_of_large_logs_those_used_last_stay() -> None:
    logs = LiveLogs()
    fill(logs, 300, events=200)
    assert kept(logs, 300) == [*range(44, 300)]


def test_a_number_that_was_given_holds_whatever_their_size() -> None:
    logs = LiveLogs(3)
    fill(logs, 8, events=0)
    assert kept(logs, 8) == [5, 6, 7]


def test_logs_that_grow_make_room() -> None:
    logs = LiveLogs()
    fill(logs, 600, events=4)
    for number in range(500, 600):  # these are used again, and are larger by now
        log = logs.get(("app", "u", str(number)))
        assert log is not None
        log.grow(4, [Event(author="a") for _ in range(400)])
        logs.keep(("app", "u", str(number)), log)
        del log
    assert kept(logs, 600) == [*range(344, 600)]


@given(
    most=st.none() | st.integers(1, 4),
    uses=st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.integers(0, 3)), max_size=40),
)
def test_the_size_is_that_of_the_logs_that_stay(most: int | None, uses: list[tuple[int, bool, int]]) -> None:
    logs = LiveLogs(most)
    for number, forget, more in uses:
        key = ("app", "u", str(number))
        if forget:
            logs.forget(key)
        else:
            log = logs.get(key) or EventLog((), number)
            log.grow(len(log), [Event(author="a") for _ in range(more)])
            logs.keep(key, log)
        assert logs._size == sum(size for _, size in logs._recent.values())
        assert most is None or len(logs._recent) <= most
