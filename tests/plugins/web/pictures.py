"""Pictures of the page: every panel in both themes and three widths, and those of the guide.

python -m tests.plugins.web.pictures FOLDER [PANEL ...]    all panels or some, as FOLDER/<width>-<theme>-<panel>.png
python -m tests.plugins.web.pictures --guide     those that docs/guides/web.md and README.md show
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import sync_playwright
from tests.plugins.web.conftest import AGENTS, chromium_path, serving

GUIDE = Path(__file__).parents[3] / "docs" / "guides"
WIDTHS = (1440, 900, 390)
THEMES = ("light", "dark")
SAID = (
    "Where is my rain jacket? Order 19.",
    "Where is order 99?",
    "The boots from order 17 leak. I want my money back.",
)
#: Panel -> its address, with the desk's session in braces, and the workshop's.
PANELS = {
    "conversation": "#/support_desk/{desk}/talk",
    "run": "#/support_desk/{desk}/run/3",
    "run-failed": "#/support_desk/{desk}/run/2",
    "run-tries": "#/workshop/{workshop}/run",
    "chain": "#/support_desk/{desk}/chain/2/steps",
    "chain-final": "#/support_desk/{desk}/chain/2/final",
    "replay": "#/support_desk/{desk}/replay/2",
    "chain-turns": "#/support_desk/{desk}/chain/2/against/1",
    "events": "#/support_desk/{desk}/events/3",
    "state": "#/support_desk/{desk}/state/3",
    "artifacts": "#/support_desk/{bill}/artifacts",
    "memory": "#/support_desk/{desk}/panel/memory",
    "graph": "#/support_desk/{desk}/graph/all",
    "graph-nodes": "#/workshop/{workshop}/graph",
    "compare": "#/support_desk/{desk}/panel/compare",
    "sessions": "#/sessions",
    "questions": "#/questions",
    "evaluation": "#/evaluation/desk",
    "feedback": "#/evaluation?view=feedback",
    "live": "#/voice_line",
    "composition": "#/composition",
    "keys": "#/support_desk/{desk}/keys",
    "keys-alone": "#/keys",
    "empty": "#/support_desk",
}
#: The lines that a first visit shows are closed.
SEEN = "['run', 'chain', 'events', 'state', 'artifacts', 'graph', 'memory', 'compare']"
#: Picture of the guide -> panel.
SHOWN = {"web": "run", "web-turns": "chain-turns", "web-evaluation": "evaluation"}


def told(api: httpx.Client) -> dict[str, str]:
    """Sessions that have something to show in each panel, by the apps' short names."""
    desk = _say(api, "support_desk", *SAID)
    bill = _say(api, "support_desk", "Write a bill for order 17.")
    jacket = _say(api, "support_desk", SAID[0], SAID[1])
    _judge(api, {"where_is_the_jacket": jacket, "bill_of_the_boots": bill})
    answer = api.get(f"/apps/support_desk/users/user/sessions/{bill}").json()["events"][-1]["id"]
    path = f"/apps/support_desk/users/user/sessions/{bill}/events/{answer}/feedback"
    api.post(path, json={"rating": "down", "comment": "the address is missing"}).raise_for_status()
    return {"desk": desk, "bill": bill, "workshop": _say(api, "workshop", "My boots lose a heel.")}


def _judge(api: httpx.Client, cases: dict[str, str]) -> None:
    """A set of sessions, run three times; before the last run an expectation changes."""
    sets = "/dev/apps/support_desk/eval-sets"
    api.post(sets, json={"evalSet": {"eval_set_id": "desk", "eval_cases": []}}).raise_for_status()
    for name, session in cases.items():
        body = {"evalId": name, "sessionId": session, "userId": "user"}
        api.post(f"{sets}/desk/add-session", json=body).raise_for_status()
    metrics = [
        {"metricName": "tool_trajectory_avg_score", "threshold": 1},
        {"metricName": "response_match_score", "threshold": 0.8},
    ]
    for number in range(3):
        if number == 2:
            case = api.get(f"{sets}/desk/eval-cases/bill_of_the_boots").json()
            case["conversation"][0]["finalResponse"]["parts"][0]["text"] = "The bill is on its way by mail."
            api.put(f"{sets}/desk/eval-cases/bill_of_the_boots", json=case).raise_for_status()
        api.post(f"{sets}/desk/run", json={"evalMetrics": metrics, "repeats": 3}, timeout=300).raise_for_status()


def _say(api: httpx.Client, app: str, *messages: str) -> str:
    id_: str = api.post(f"/apps/{app}/users/user/sessions", json={}).raise_for_status().json()["id"]
    for text in messages:
        said = {"role": "user", "parts": [{"text": text}]}
        body = {"appName": app, "userId": "user", "sessionId": id_, "newMessage": said, "streaming": True}
        api.post("/run_sse", json=body).raise_for_status()
    return id_


def taken(browser: Any, address: str, place: str, width: int, theme: str) -> bytes:
    """A picture of the page at a place."""
    context = browser.new_context(viewport={"width": width, "height": 844 if width < 640 else 900}, color_scheme=theme)
    page = context.new_page()
    page.add_init_script(
        "for (const one of NAMES) localStorage.setItem(`newel.seen.${one}`, '1')".replace("NAMES", SEEN)
    )
    page.goto(f"{address}/web/{place}")
    page.get_by_label("Agent", exact=True).wait_for(state="attached")
    page.wait_for_timeout(1_500)
    data: bytes = page.screenshot()
    context.close()
    return data


def take(write: Callable[[str, bytes], object], wanted: dict[str, tuple[str, int, str]]) -> None:
    """Take the wanted pictures: name -> panel, width, theme."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        agents = Path(folder) / "agents"
        shutil.copytree(AGENTS, agents, ignore=shutil.ignore_patterns("__pycache__"))
        browser = driver.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        with serving(str(agents), "--sessions", f"sqlite:///{folder}/s.db", "--no-token", cwd=Path(folder)) as address:
            origin = address.rstrip("/")
            with httpx.Client(base_url=origin, trust_env=False, timeout=30) as api:
                sessions = told(api)
            for name, (panel, width, theme) in wanted.items():
                write(name, taken(browser, origin, PANELS[panel].format(**sessions), width, theme))
        browser.close()


def main(target: str, *panels: str) -> None:
    """Take the pictures of the guide, or those of all panels, or of some, into a folder."""
    if target == "--guide":
        take(
            lambda name, data: (GUIDE / f"{name}.png").write_bytes(data),
            {k: (v, 1440, "light") for k, v in SHOWN.items()},
        )
        return
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {
        f"{w}-{theme}-{panel}": (panel, w, theme) for panel in panels or PANELS for theme in THEMES for w in WIDTHS
    }
    take(lambda name, data: (folder / f"{name}.png").write_bytes(data), wanted)


if __name__ == "__main__":
    main(*sys.argv[1:])
