"""What is public has not changed unnoticed: a change is recorded, and has a line in the changelog."""

from __future__ import annotations

from difflib import unified_diff

from tests.surface import CHANGELOG, recorded, surface

_REMEDY = """
The public surface differs from the recorded one (docs/plugins/api.md says what is public). If that is meant:
  - what is new raises the second number of newel_kernel.API, once for each release of newel;
  - what is gone is deprecated first, and goes with the next first number (tests/test_releases.py says when);
  - python tests/surface.py "what changed, for whoever uses it" records it with a line in CHANGELOG.md."""


def test_a_change_of_the_surface_is_recorded_with_a_line_in_the_changelog() -> None:
    entry, lines = recorded()
    diff = "\n".join(unified_diff(lines, surface(), "recorded", "here", lineterm="", n=0))
    assert not diff, f"{diff[:4000]}\n{_REMEDY}"
    assert entry in CHANGELOG.read_text(encoding="utf-8").splitlines(), f"CHANGELOG.md lacks the line {entry!r}"


def test_the_surface_has_what_plugins_use() -> None:
    lines = surface()
    assert "kind RequestProcessor: register_request_processors(settings), order=request_chain" in lines
    assert "hook before_model_callback(callback_context, llm_request)" in lines
    assert any(line.startswith("newel_kernel.RequestProcessor.run: ") for line in lines)
    assert "newel_kernel.RequestProcessor.after: tuple[str, ...] = ..." in lines
    assert any(line.startswith("newel_compose.compose(distribution: ") for line in lines)
    assert "newel.hookimpl = newel_kernel.hookimpl" in lines
