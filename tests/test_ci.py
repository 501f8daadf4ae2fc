"""The files of hosted CI, releases and issues: they parse, call what exists, and pin what they use."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: path for path in sorted((GITHUB / "workflows").glob("*.yml"))}
RELEASE = runpy.run_path(str(ROOT / ".ci" / "release"), run_name="release")


def parsed(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # so that the key `on` stays a text


def steps(workflow: Any) -> Iterator[dict[str, Any]]:
    for job in workflow["jobs"].values():
        yield from job.get("steps", ())


def test_hosted_ci_runs_the_check_on_every_version_that_is_promised() -> None:
    job = parsed(WORKFLOWS["ci"])["jobs"]["check"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = re.findall(r"Python :: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    assert job["strategy"]["matrix"]["python"] == promised
    assert project["requires-python"] == f">={promised[0]}"
    (check,) = [step for step in job["steps"] if ".ci/run" in step.get("run", "")]
    assert check["run"] == "bash .ci/run"
    assert check["env"]["PYTHON"] == "python${{ matrix.python }}"


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_pins_its_actions_and_has_few_rights(name: str) -> None:
    workflow = parsed(WORKFLOWS[name])
    assert workflow["permissions"] == {"contents": "read"}
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert used
    assert not [action for action in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@(v\d+|release/v\d+)", action)]
    assert all("timeout-minutes" in job for job in workflow["jobs"].values() if "steps" in job)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_what_a_workflow_calls_exists(name: str) -> None:
    workflow = parsed(WORKFLOWS[name])
    called = [path for step in steps(workflow) for path in re.findall(r"(?<!\S)\.ci/\w+", step.get("run", ""))]
    called += [job["uses"] for job in workflow["jobs"].values() if "uses" in job]
    assert called
    assert not [path for path in called if not (ROOT / path).is_file()]
    needed = {one for job in workflow["jobs"].values() for one in [job.get("needs", [])] if isinstance(one, str)}
    assert needed <= set(workflow["jobs"])


def test_only_the_step_that_publishes_may_ask_for_a_token() -> None:
    jobs = parsed(WORKFLOWS["release"])["jobs"]
    assert {name: job["permissions"] for name, job in jobs.items() if "permissions" in job} == {
        "publish": {"id-token": "write"}
    }
    assert jobs["publish"]["environment"] == "pypi"
    assert jobs["publish"]["needs"] == "build"
    assert jobs["build"]["needs"] == "check"


def test_the_forms_of_issues_have_what_they_need() -> None:
    forms = [parsed(path) for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert len(forms) > 1
    for form in forms:
        assert form["name"]
        assert form["description"]
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert len({field["id"] for field in fields}) == len(fields)
        assert all(field["attributes"]["label"] for field in fields)


@pytest.mark.parametrize("script", sorted((ROOT / ".ci").iterdir()), ids=lambda path: path.name)
def test_a_script_can_be_executed(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").startswith("#!/usr/bin/env ")


def test_an_unknown_check_is_refused_before_any_runs() -> None:
    done = subprocess.run([ROOT / ".ci" / "check", "lint", "typs"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no check 'typs'; there are lint, types, quick, tests, docs" in done.stderr


# --- what a release checks --------------------------------------------------------------------------------------------


def wheel(folder: Path, *, without: str = "", extra: str = "", url: bool = True) -> Path:
    """A wheel of the checkout's files, without one of them or with one more."""
    path = folder / "newel-0.1.0-py3-none-any.whl"
    info = "newel-0.1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted({*RELEASE["expected_files"](), *filter(None, [extra])} - {without}):
            archive.writestr(name, "")
        metadata = Message()
        metadata["Name"] = "newel"
        if url:
            metadata["Project-URL"] = "Issues, https://example.com/issues"
        archive.writestr(f"{info}/METADATA", metadata.as_string())
        archive.writestr(f"{info}/licenses/LICENSE", "")
    return path


def test_a_whole_wheel_is_accepted(tmp_path: Path) -> None:
    assert len(RELEASE["expected_files"]()) > 500
    assert list(RELEASE["wheel_problems"](wheel(tmp_path), "0.1.0")) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"without": "newel_kernel/py.typed"}, "lacks newel_kernel/py.typed"),
        ({"without": "newel/distributions/standard.yaml"}, "lacks newel/distributions/standard.yaml"),
        ({"extra": "tests/conftest.py"}, "has tests/conftest.py, which the checkout does not"),
        ({"url": False}, "the metadata has no address"),
    ],
)
def test_a_wheel_that_lacks_or_adds_something_is_refused(change: dict[str, Any], problem: str, tmp_path: Path) -> None:
    (found,) = RELEASE["wheel_problems"](wheel(tmp_path, **change), "0.1.0")
    assert problem in found


@pytest.mark.parametrize(
    ("tag", "heading", "problem"),
    [
        ("v0.1.1", "## 0.1.0 (2026-12-01)", "the tag must be v0.1.0"),
        ("v0.1.0", "## 0.1.0 (not released yet)", "no heading '## 0.1.0 (YYYY-MM-DD)'"),
    ],
)
def test_tag_version_and_changelog_agree(tag: str, heading: str, problem: str) -> None:
    (found,) = RELEASE["tag_problems"](tag, "0.1.0", f"# Changelog\n\n{heading}\n")
    assert problem in found
    assert list(RELEASE["tag_problems"]("v0.1.0", "0.1.0", "## 0.1.0 (2026-12-01)\n")) == []


def test_a_release_is_recorded_with_its_day(tmp_path: Path) -> None:
    changelog = "# Changelog\n\n## 0.1.0 (2026-12-01)\n"
    (found,) = RELEASE["record_problems"]("0.1.0", changelog, tmp_path)
    assert "run `python tests/releases.py 2026-12-01`" in found
    record = tmp_path / "0.1.0.txt"
    record.write_text("# newel 0.1.0, 2026-11-30\n")
    assert len(list(RELEASE["record_problems"]("0.1.0", changelog, tmp_path))) == 1
    record.write_text("# newel 0.1.0, 2026-12-01\nAPI 1\n")
    assert list(RELEASE["record_problems"]("0.1.0", changelog, tmp_path)) == []
