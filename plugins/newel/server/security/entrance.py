"""Entrance: the page that a browser without a cookie sees; it trades the token of its address for one."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from newel.server.security.answers import answer
from newel.server.security.cookies import TRADE

if TYPE_CHECKING:
    from starlette.types import Scope, Send

# The token leaves the address bar and the history before anything else is asked for.
_SCRIPT = """
const token = new URLSearchParams(location.hash.slice(1)).get("token");
history.replaceState(null, "", location.pathname + location.search);
if (token) {
  const base = document.documentElement.dataset.base;
  fetch(base + "TRADE", {method: "POST", headers: {authorization: "Bearer " + token}})
    .then(answer => answer.ok ? location.reload() : document.getElementById("wrong").hidden = false);
}
""".replace("TRADE", TRADE)
_PAGE = """<!doctype html><html lang="en" data-base="BASE"><meta charset="utf-8"><title>newel</title>
<h1>This server asks for its token</h1>
<p>Open the address that it printed when it started: it ends in <code>#token=...</code>.</p>
<p id="wrong" hidden role="alert">That token is not the server's: it has been started again since.</p>
<script>SCRIPT</script></html>"""
_HASH = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; connect-src 'self'; script-src 'sha256-{_HASH}'; frame-ancestors 'none'; base-uri 'none'"
)


async def entrance(scope: Scope, send: Send) -> None:
    """Answer 401 with the page."""
    base = scope.get("root_path", "").replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    page = _PAGE.replace("BASE", base).replace("SCRIPT", _SCRIPT)
    headers = [(b"content-security-policy", _POLICY.encode()), (b"www-authenticate", b"Bearer")]
    await answer(scope, send, 401, page.encode(), b"text/html; charset=utf-8", headers)
