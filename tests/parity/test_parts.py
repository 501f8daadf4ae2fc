"""Without a plugin, and with a stranger's copies in place of all, the parity scenarios that do not need it still pass.

needs.json says which scenarios of `CORE` need each plugin of `adk`; ``python tests/parity/test_parts.py`` measures it,
in a minute. A plugin that takes part in more, or in less, than it says fails a test.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import pytest
from tests.parity.test_parity import DISPUTED, IDS, PENDING, difference

from newel_compose import compose
from newel_kernel import NewelError

FILE = Path(__file__).with_name("needs.json")
#: The scenarios of each area that are tried: two, far apart.
CORE = [
    scenario
    for _, group in groupby((one for one in IDS if one not in {*PENDING, *DISPUTED}), lambda one: one.partition("/")[0])
    for area in [list(group)]
    for scenario in area[:: max(1, len(area) // 2)][:2]
]
#: How many are tried without each plugin: others for another plugin.
_TRIED = 6
PLUGINS = [record.name for record in compose("adk").plugins if record.state == "enabled"]
#: A plugin with everything that newel's plugins register, in its own name.
COPIES = """
from newel_compose import installed_points, load
from newel_kernel import hookimpl

own = [point.name for point in installed_points() if point.distribution == "newel"]
plugins = load([name for name in own if name in {names!r}])[0].values()


def copies(hook):
    def register(settings):
        results = []
        for plugin in plugins:
            if (function := getattr(plugin, hook, None)) is not None:
                results += function(settings) if function.__code__.co_argcount else function()
        return results

    return register


for hook in {hooks!r}:
    globals()[hook] = hookimpl(copies(hook))
"""


def needs() -> dict[str, list[str]]:
    """Plugin -> the scenarios that need it."""
    found: dict[str, list[str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def without(plugin: str, folder: Path) -> Path | None:
    """The distribution `adk` without a plugin; None if it does not compose, and says who needs it."""
    file = folder / f"without_{plugin}.yaml"
    file.write_text(f"name: house\nextends: adk\ndisable: [{plugin}]\n")
    try:
        compose(file)
    except NewelError as error:
        if plugin not in str(error):
            raise
        return None
    return file


def failing(scenarios: Sequence[str]) -> Iterator[str]:
    """Those that are different from each recorded release."""
    return (scenario for scenario in scenarios if difference(scenario) is not None)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_without_a_plugin_what_does_not_need_it_passes(
    plugin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = without(plugin, tmp_path)
    if file is None:
        assert needs()[plugin] == CORE
        return
    monkeypatch.setenv("NEWEL_DISTRIBUTION", str(file))
    needing = needs()[plugin]
    others = [one for one in CORE if one not in needing]
    start = crc32(plugin.encode()) % max(1, len(others))
    assert [*failing((others[start:] + others[:start])[:_TRIED])] == []
    assert [*failing(needing[:1])] == needing[:1]


def test_with_a_strangers_copies_of_all_stages_everything_passes(
    fake_packages: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed = compose("adk")
    items = [
        (composed.registry.address(kind, name), owned.plugin)
        for kind, descriptors in composed.registry.kinds()
        for name, owned in descriptors.items()
    ]
    hooks = sorted({f"register_{address.partition('/')[0]}" for address, _ in items})
    names = sorted({plugin for _, plugin in items})
    source = COPIES.format(names=names, hooks=hooks)
    fake_packages.install("newel-copies", plugins={"copies": "fake_copies"}, files={"fake_copies.py": source})
    replaced = json.dumps({address: "copies" for address, _ in items})
    file = tmp_path / "house.yaml"
    file.write_text(f"name: house\nextends: adk\nplugins: [copies]\nreplace: {replaced}\n")
    after = compose(file)
    assert {owned.plugin for _, found in after.registry.kinds() for owned in found.values()} == {"copies"}
    monkeypatch.setenv("NEWEL_DISTRIBUTION", str(file))
    assert [*failing(CORE)] == []


def test_each_plugin_is_measured() -> None:
    assert sorted(needs()) == sorted(PLUGINS)
    assert len(CORE) > 60


def measure() -> dict[str, list[str]]:
    """Leave each plugin out, and play all scenarios."""
    found = {}
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for plugin in PLUGINS:
            file = without(plugin, Path(folder))
            patch.setenv("NEWEL_DISTRIBUTION", str(file))
            found[plugin] = CORE if file is None else [*failing(CORE)]
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    FILE.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
