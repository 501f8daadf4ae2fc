"""The client's table of routes, made from the server's: ``python -m newel.web.client`` writes it."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from newel.server.kinds import WEBSOCKET
from newel.server.plugin import register_routes
from newel.web.plugin import register_routes as routes_of_the_page

_HEAD = "/** The documented routes of the API server; made by python -m newel.web.client. */\n"


def source() -> str:
    """The module `js/routes.js`."""
    routes = {
        one.name: {"method": one.method, "path": one.path}
        for one in sorted([*register_routes(), *routes_of_the_page()], key=lambda route: route.name)
        if one.method != WEBSOCKET
    }
    lines = [f"  {name}: {json.dumps(one)},\n" for name, one in routes.items()]
    return f"{_HEAD}export const ROUTES = {{\n{''.join(lines)}}};\n"


if __name__ == "__main__":
    Path(str(files("newel.web") / "static" / "js" / "routes.js")).write_text(source(), encoding="utf-8")
