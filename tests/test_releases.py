"""What a release has is deprecated for two further releases and six months before it goes."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.releases import Release, problems
from typing_extensions import deprecated

from newel_kernel import RequestProcessor, lifecycle_hookspecs
from newel_types.deprecation import deprecated_names
from tests import releases, surface

OLD = ["newel_kernel.Old: class()", "newel_kernel.Old.run(self)"]
MARK = "deprecated newel_kernel.Old: since newel 0.2.0, gone in API 2.0; use newel_kernel.Event"
FIRST = Release("0.1.0", date(2027, 1, 1), ["API 1", *OLD])
SECOND = Release("0.2.0", date(2027, 2, 1), ["API 1", *OLD, MARK])
THIRD = Release("0.3.0", date(2027, 3, 1), ["API 1", *OLD, MARK])
FOURTH = Release("0.4.0", date(2027, 4, 1), ["API 1", *OLD, MARK])
ALL = [FIRST, SECOND, THIRD, FOURTH]
SINCE = "newel_kernel.Old is gone, but was deprecated in newel 0.2.0 of 2027-02-01, and "


def without(day: str = "2027-09-01", api: int = 2, lines: Sequence[str] = ()) -> Release:
    return Release("1.0.0", date.fromisoformat(day), [f"API {api}", *lines])


def test_nothing_that_was_released_is_gone_too_early() -> None:
    now = Release(releases.version(), date.today(), surface.surface())
    assert list(problems(releases.releases(), now)) == []
    assert len(now.names) > 4000


def test_what_was_deprecated_for_long_enough_may_go() -> None:
    assert list(problems(ALL, without())) == []


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ([FIRST], without(), ["newel_kernel.Old is gone without a deprecation: newel 0.1.0 has it; bring it back, "]),
        (ALL[:2], without(), [f"{SINCE}has to stay for 2 more releases; it stayed for 0"]),
        (ALL[:3], without(), [f"{SINCE}has to stay for 2 more releases; it stayed for 1"]),
        (ALL, without("2027-07-01"), [f"{SINCE}has to stay for 183 days; it stayed for 150"]),
        (ALL, without(api=1), [f"{SINCE}goes with the first number of the API; that is 1, as it was"]),
        ([*ALL, FIRST._replace(version="0.5.0")], without(), ["newel_kernel.Old is gone without a deprecation"]),
        ([SECOND], without("2027-03-01", 1), [f"{SINCE}has to stay for 2", f"{SINCE}has to stay for 183", SINCE]),
    ],
)
def test_what_goes_too_early_is_told_with_all_reasons(before: list[Release], now: Release, said: list[str]) -> None:
    found = list(problems(before, now))
    assert len(found) == len(said)
    assert all(one.startswith(text) for one, text in zip(found, said, strict=True))


def test_a_member_is_public_too() -> None:
    lines = ["newel_kernel.Old: class()"]
    (found,) = problems([FIRST], without(lines=lines))
    assert found.startswith("newel_kernel.Old.run is gone without a deprecation")
    mark = "deprecated newel_kernel.Old.run: since newel 0.2.0, gone in API 2.0; use newel_kernel.Event"
    marked = [FIRST, *(one._replace(lines=["API 1", *OLD, mark]) for one in ALL[1:])]
    assert list(problems(marked, without(lines=lines))) == []


def test_what_has_another_first_name_is_still_here() -> None:
    lines = ["newel_kernel.Old = newel_kernel.New", "newel_kernel.New: class()", "newel_kernel.New.run(self)"]
    assert list(problems([FIRST], without(lines=lines))) == []
    assert len(list(problems([FIRST], without(lines=lines[:2])))) == 1


def test_signatures_and_defaults_are_no_part_of_a_name() -> None:
    lines = ["a.B.c: str = ...", "a.f(x: int=1) -> str", "a.T, as google-genai has it", "module a.m: x, y", "a.Z = a.T"]
    assert [*without(lines=lines).names] == ["a.B.c", "a.f", "a.T", "a.m.x", "a.m.y", "a.Z"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("old; use newel_kernel.Event", "says 'old; use newel_kernel.Event'; write it like 'since newel 0.4.0, "),
        ("since newel 0.1.0, gone in API 2.0; use x", "says that it is deprecated since newel 0.1.0; it is since 0.2"),
        ("since newel 0.2.0, gone in API 1.0; use x", "gone in API 1.0, which is not later than 1"),
    ],
)
def test_a_deprecation_says_truly_since_when(text: str, said: str) -> None:
    wrong = Release("0.2.0", date(2027, 2, 1), ["API 1", *OLD, f"deprecated newel_kernel.Old: {text}"])
    for before in ([FIRST], ALL):
        (found,) = problems(before, wrong)
        assert said in found


def test_the_surface_shows_what_is_deprecated(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "since newel 0.2.0, gone in API 2.0; use x"
    surface.composed.kinds()  # kept once it is made: not made of what stands here for a moment

    def marked(function: Any) -> Any:
        return deprecated(text, category=None)(function)

    class Told:
        @property
        @marked
        def phase(self) -> str:
            return ""

    hook = marked(lambda callback_context, llm_request: None)
    monkeypatch.setitem(deprecated_names, "newel_kernel.Event", text)
    monkeypatch.setattr(lifecycle_hookspecs, "before_model_callback", hook)
    monkeypatch.setattr(RequestProcessor, "phase", inspect.getattr_static(Told, "phase"))
    phases = [f"newel_kernel.{kind}.phase" for kind in ("RequestProcessor", "ToolPreparation")]  # one is the other
    expected = ["hook before_model_callback", "newel_kernel.Event", *phases]
    assert sorted(surface._deprecations()) == [f"deprecated {name}: {text}" for name in expected]


def test_a_release_is_recorded_as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(releases, "RECORDS", tmp_path / "released")
    releases.record("2026-12-01")
    (one,) = releases.releases()
    assert one == (releases.version(), date(2026, 12, 1), surface.surface())
    (tmp_path / "released" / "0.0.1.txt").write_text("# newel 0.0.1, 2026-01-01\nAPI 1\nnewel.Gone: class()\n")
    for write in (lambda: releases.record("2026-12-02"), lambda: surface.record("Nothing.")):
        with pytest.raises(SystemExit, match=r"newel\.Gone is gone without a deprecation"):
            write()
    assert releases.releases()[-1] == one


def test_releases_of_one_day_are_in_the_order_of_their_versions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(releases, "RECORDS", tmp_path)
    for version, day in (("0.10.0", 2), ("0.9.1", 2), ("0.9.0", 2), ("0.11.0", 1), ("0.10.0rc1", 2)):
        (tmp_path / f"{version}.txt").write_text(f"# newel {version}, 2026-01-0{day}\nAPI 1\n", encoding="utf-8")
    assert [one.version for one in releases.releases()] == ["0.11.0", "0.9.0", "0.9.1", "0.10.0rc1", "0.10.0"]


def test_a_record_is_not_written_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(releases, "RECORDS", tmp_path)
    releases.record("2026-12-01")
    with pytest.raises(SystemExit, match="is recorded already, and a record is never edited"):
        releases.record("2026-12-02")
    assert [one.day for one in releases.releases()] == [date(2026, 12, 1)]
