"""load_web_page: the text of a page of the public internet."""

from __future__ import annotations

from newel.net import DEFAULT_POLICY, FetchError, Policy, Reply, UrlRefusedError, fetch
from newel.tools.builtin_tools import Settings
from newel.tools.page_text import decoded, text_of
from newel_kernel import ToolContext

_PAGES = ("text/html", "application/xhtml+xml", "")
_TEXTS = ("text/", "application/json", "application/xml", "application/rss+xml", "application/atom+xml")


async def load_web_page(url: str, tool_context: ToolContext | None = None) -> str:
    """Fetch a web page and return the text in it.

    Args:
        url: the page's address, http or https.
    """
    try:
        reply = await fetch(url, _policy(tool_context))
    except (UrlRefusedError, FetchError) as error:
        return f"Failed to fetch url: {url} ({error})"
    if reply.status != 200:
        return f"Failed to fetch url: {url} (status {reply.status})"
    return _text(reply, url)


def _text(reply: Reply, url: str) -> str:
    kind = reply.content_type
    if kind not in _PAGES and not kind.startswith(_TEXTS):
        return f"Failed to fetch url: {url} (it is {kind}, not text)"
    text = decoded(reply.body, reply.headers.get("content-type", ""))
    text = text_of(text) if kind in _PAGES else text
    return f"{text}\n[the page goes on]" if reply.truncated else text


def _policy(context: ToolContext | None) -> Policy:
    """The distribution's settings of `builtin_tools`."""
    if context is None:
        return DEFAULT_POLICY
    settings = context.get_invocation_context().composition.settings.get("builtin_tools")
    if not isinstance(settings, Settings):
        return DEFAULT_POLICY
    return Policy(allow=tuple(settings.web_allow), max_bytes=settings.web_max_bytes, seconds=settings.web_seconds)
