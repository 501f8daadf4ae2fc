"""load_web_page as a model calls it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from newel.agents import LlmAgent
from newel.models import BaseLlm
from newel.models.scripted import ScriptedModel
from newel.tools.load_web_page import load_web_page
from newel.tools.page_text import decoded, text_of
from newel_compose import select_distribution
from newel_types import FunctionCall

PAGE = """<!doctype html><html><head><title>Teas</title><style>p {color: red}</style>
<script>if (1 < 2) alert("<p>no</p>")</script></head>
<body><h1>All &amp; every tea</h1><p>Green <b>and</b>\n black.</p>
<ul><li>one<li>two</ul><noscript>no</noscript></body>"""


def asking(url: str) -> LlmAgent:
    steps = [FunctionCall(name="load_web_page", args={"url": url}), "read"]
    model: BaseLlm = ScriptedModel(steps)
    return LlmAgent(name="root", model=model, tools=[load_web_page])


def loaded(talk: Any, url: str, **settings: Any) -> str:
    adk, _ = select_distribution("adk")
    chosen = adk.model_copy(update={"settings": {"builtin_tools": settings}})
    response = talk(asking(url), distribution=chosen).say("tea")[1].get_function_responses()[0].response
    return str(response["result"])


def test_the_text_of_a_page_is_returned(talk: Any, site: Any) -> None:
    site.page("/teas", PAGE.encode())
    text = loaded(talk, site.url("/teas"), web_allow=[site.address])
    assert text == "Teas\nAll & every tea\nGreen and\nblack.\none\ntwo"


def test_without_a_setting_the_inside_is_out_of_reach(talk: Any, site: Any) -> None:
    site.page("/", b"secret")
    text = loaded(talk, site.url())
    assert text.startswith(f"Failed to fetch url: {site.url()} ('127.0.0.1' is not a public host")
    assert not site.seen


def test_plain_text_and_json_stay_as_they_are(talk: Any, site: Any) -> None:
    site.page("/t", "a < b é".encode("latin-1"), kind="text/plain; charset=ISO-8859-1")
    assert loaded(talk, site.url("/t"), web_allow=[site.address]) == "a < b é"


@pytest.mark.parametrize(
    ("kind", "status", "why"), [("image/png", 200, "it is image/png, not text"), ("text/html", 404, "status 404")]
)
def test_what_is_no_page_is_said_to_be_none(talk: Any, site: Any, kind: str, status: int, why: str) -> None:
    site.page("/", b"x", kind=kind, status=status)
    assert loaded(talk, site.url(), web_allow=[site.address]) == f"Failed to fetch url: {site.url()} ({why})"


def test_a_long_page_is_cut(talk: Any, site: Any) -> None:
    site.page("/", b"word " * 100)
    text = loaded(talk, site.url(), web_allow=[site.address], web_max_bytes=9)
    assert text == "word word\n[the page goes on]"


def test_it_can_be_called_without_an_agent() -> None:
    assert asyncio.run(load_web_page("ftp://x/")).startswith("Failed to fetch url: ftp://x/ (")


def test_the_charset_comes_from_the_header_or_the_page() -> None:
    assert decoded("é".encode("latin-1"), "text/html; charset=latin-1") == "é"
    assert decoded(b'<meta charset="latin-1">\xe9', "text/html").endswith("é")
    assert decoded("é".encode(), "text/html; charset=nonsense") == "é"
    assert decoded(b"a\xff", "text/html") == "a\ufffd"


@pytest.mark.parametrize(
    "charset", ["punycode", "utf-7", "unicode_escape", "raw_unicode_escape", "idna", "zlib", "undefined"]
)
def test_what_is_no_charset_of_the_web_is_not_one_here(charset: str) -> None:
    """Punycode takes minutes for a page, others hide what a page says."""
    body = b"a+AGI-\\u0062-" * 20_000
    began = time.process_time()
    assert decoded(body, f"text/html; charset={charset}") == body.decode()
    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    "charset", ["Shift_JIS", "EUC-JP", "GBK", "gb18030", "Big5", "EUC-KR", "windows-1252", "KOI8-R"]
)
def test_the_charsets_of_the_web_are_read(charset: str) -> None:
    text = "п" if charset == "KOI8-R" else "é" if charset == "windows-1252" else "一" if charset != "EUC-KR" else "가"
    assert decoded(text.encode(charset), f"text/html; charset={charset}") == text


def test_an_unclosed_script_hides_the_rest_and_breaks_nothing() -> None:
    assert text_of("<p>a</p><svg><svg></svg>b</svg><p>c<script>d") == "a\nc"
