"""A composition whose stages are replaced keeps their order, names and providers; the old one stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from newel_compose import compose, restaged
from newel_kernel import RequestProcessor, ToolPolicy, ToolPreparation


def test_each_stage_is_replaced_where_it_stands() -> None:
    old = compose("standard")
    seen: list[Any] = []

    def mark(placed: Any) -> Any:
        seen.append(placed)
        return replace(placed.stage) if isinstance(placed.stage, RequestProcessor) else placed.stage

    new = restaged(old, mark)
    assert len(seen) == sum(map(len, old.placed.values()))
    assert new.request_steps == old.request_steps
    assert all(a is not b for a, b in zip(new.request_steps, old.request_steps, strict=True))
    for kind in (RequestProcessor, ToolPreparation, ToolPolicy):
        assert list(new.registry.owned(kind)) == list(old.registry.owned(kind))
        for name, owned in new.registry.owned(kind).items():
            assert owned[1:] == old.registry.owned(kind)[name][1:]
            assert (owned.item is old.registry.find(kind, name)) == (kind is ToolPolicy)
            assert owned.item is new.registry.find(kind, name)
    assert [one.stage for one in new.placed["request_chain"]] == list(new.request_chain)
    assert new.stash is not old.stash
