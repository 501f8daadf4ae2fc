"""Groups of entry points that take part in some compositions only."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from newel.evaluation.kinds import Metric
from newel.evaluation.plugins import GROUP as EVALUATION
from newel_compose import compose
from newel_kernel import CompositionError

METRICS = """
    from newel.evaluation.kinds import Metric
    from newel_kernel import hookimpl
    from pydantic import BaseModel

    class Settings(BaseModel, extra="forbid"):
        words: int = 20

    @hookimpl
    def register_settings():
        return Settings

    @hookimpl
    def register_metrics(settings):
        match = Metric(name="response_match_score", load=lambda: None, description="ours")
        return [match, Metric(name="brevity", load=lambda: None, description=f"{settings['brief'].words} words")]
"""
BODY = "settings: {brief: {words: 9}}\nreplace: {response_match_score: brief}\ndisable: [efficiency]"


def test_a_distribution_names_plugins_of_evaluations_as_any_others(site: Any, extending: Any) -> None:
    site.install("newel-brief", plugins={"brief": "fake_brief"}, group=EVALUATION, fake_brief=METRICS)
    path = extending("adk", BODY)
    metrics = compose(path, groups=(EVALUATION,)).registry.owned(Metric)
    assert metrics["brevity"].item.description == "9 words"
    assert metrics["response_match_score"].plugin == "brief"
    assert "tool_call_count_v1" not in metrics
    assert metrics.keys() >= {"contains", "tool_trajectory_avg_score"}
    code = f"import sys, newel_compose; newel_compose.compose({str(path)!r}); print('fake_brief' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": f"{site.path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (done.stdout.strip(), done.returncode) == ("False", 0), done.stderr  # a run of an agent imports none of it


def test_a_group_of_our_prefix_that_nobody_asks_for_makes_no_name_known(site: Any, extending: Any) -> None:
    site.install("newel-odd", plugins={"odd": "fake_odd"}, group="newel.oddities", fake_odd="")
    with pytest.raises(CompositionError, match="`disable` names the plugin 'odd', which is not installed"):
        compose(extending("adk", "disable: [odd]"))
    site.install("newel-tea", plugins={"tea": "fake_tea"}, group="house.teas", fake_tea="")
    path = extending("adk", "disable: [tea]")
    assert "tea" not in [record.name for record in compose(path, groups=("house.teas",)).plugins]


def test_a_group_counts_if_a_package_that_ships_distributions_has_plugins_in_it(site: Any, extending: Any) -> None:
    """Whatever that package's name is: no product has a right that others have not."""
    site.install(
        "house", plugins={"odd": "fake_odd"}, group="newel.oddities", distributions={"x": "fake_x"}, fake_odd=""
    )
    site.install("guest", plugins={"odder": "fake_odd"}, group="newel.oddities")
    compose(extending("adk", "disable: [odd, odder]"))
