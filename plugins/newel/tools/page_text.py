"""The text of a web page."""

from __future__ import annotations

import codecs
import re
from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object"})
_INLINE = frozenset(
    {
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "cite",
        "code",
        "data",
        "dfn",
        "em",
        "font",
        "i",
        "kbd",
        "label",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "sup",
        "time",
        "u",
        "var",
        "wbr",
    }
)
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent: str | None = None
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._silent is not None:
            self._depth += tag == self._silent
        elif tag in _SILENT:
            self._silent, self._depth = tag, 1
        elif tag not in _INLINE:
            self.pieces.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._silent is None and tag not in _INLINE:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._silent is None:
            if tag not in _INLINE:
                self.pieces.append("\n")
            return
        self._depth -= tag == self._silent
        if not self._depth:
            self._silent = None

    def handle_data(self, data: str) -> None:
        if self._silent is None:
            self.pieces.append(data)


#: The charsets of the web, as Python names them. Others may take minutes for a page, such as punycode, or read what no
#: browser reads.
_CHARSETS = frozenset(
    (
        *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "ascii"),
        *("big5", "big5hkscs", "euc_jp", "euc_kr", "gb18030", "gb2312", "gbk", "iso2022_jp", "shift_jis"),
        *("cp866", "cp874", "cp932", "cp949", "koi8-r", "koi8-u", "mac-cyrillic", "mac-roman", "tis-620"),
        *(f"cp{number}" for number in range(1250, 1259)),
        *(f"iso8859-{number}" for number in range(1, 17)),
    )
)


def decoded(body: bytes, content_type: str) -> str:
    """`body` in the charset that the header or the page names, else UTF-8; what does not fit is replaced."""
    _, header, charset = content_type.lower().partition("charset=")
    if not header and (match := _META_CHARSET.search(body[:4096])):
        charset = match[1].decode("ascii", "replace")
    try:
        name = codecs.lookup(charset.partition(";")[0].strip(" \"'") or "utf-8").name
        return body.decode(name if name in _CHARSETS else "utf-8", errors="replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", errors="replace")


def text_of(html: str) -> str:
    """The words of a page, a line per block, without scripts and styles."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "\n".join(line for line in lines if line)
