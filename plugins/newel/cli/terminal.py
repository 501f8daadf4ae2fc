"""Terminal: text that is safe to show, tables, and keys that wait for a prompt."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, TextIO

import click

from newel.cli.word_wrap import WordWrap, wrapped
from newel.events.text import one_line
from newel_kernel import CompositionError, NewelError, plain

if sys.platform != "win32":
    import termios

#: Characters that can move the cursor, retitle the window or type for the user; models and tools write text too.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
#: The most characters of a line of stderr. Errors of plugins may be as long as they like.
_LONGEST = 4000


def shown(name: object) -> str:
    """An id or a name that others chose, on one line: what would forge output is shown as an escape."""
    return plain(name)


class _Status:
    """The line below the output that the next text removes."""

    shown = False


def status(text: str) -> None:
    """Show `text` on its own line until the next output; only on a terminal. An empty text shows nothing."""
    if (text or _Status.shown) and sys.stdout.isatty():
        sys.stdout.write("\r\x1b[2K" + click.style(_CONTROL.sub("", text), dim=True))
        sys.stdout.flush()
        _Status.shown = bool(text)


def say(
    text: str,
    *,
    err: bool = False,
    nl: bool = True,
    dim: bool | None = None,
    bold: bool | None = None,
    fg: str | None = None,
    wrap: WordWrap | None = None,
) -> None:
    """Write `text`; on a terminal without control characters, and with lines that end between words.

    `wrap` is the WordWrap of a text that comes in chunks. `dim`, `bold` and `fg` are click's.
    """
    status("")
    stream = sys.stderr if err else sys.stdout
    if err:  # errors and notes quote strangers
        text = safe(text)
    if stream.isatty():
        text = _CONTROL.sub("", text)
        text = wrap.add(text) if wrap is not None else wrapped(text) if nl else text
    click.secho(text, err=err, nl=nl, dim=dim, bold=bold, fg=fg)
    stream.flush()


def lines_of(error: NewelError) -> list[str]:
    """An error on one line, with the plugin that it comes from; the problems of a composition on one each."""
    if isinstance(error, CompositionError):
        return [one_line(problem) for problem in error.problems]
    return [one_line(error) + origin_of(error)]


def origin_of(error: BaseException) -> str:
    """``; raised in ... of the plugin ...``: the plugin that an error comes from, as its notes say; may be empty."""
    return "".join(f"; {note}" for note in getattr(error, "__notes__", ()) if "of the plugin" in str(note))


def safe(text: str) -> str:
    """The lines of a text that quotes strangers, in plain characters and of a bounded length."""
    return "\n".join(plain(line, _LONGEST) for line in text.split("\n"))


def short_json(value: object, width: int) -> str:
    """`value` as JSON on one line of at most `width` characters; a cut text ends with a whole word, if it has any."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    cut = text[: width - 1]
    at_word = cut.rpartition(" ")[0]
    return (at_word if len(at_word) * 2 > width else cut) + "…"


def to_terminal() -> bool:
    """Whether a person reads the output; else it is JSON."""
    return sys.stdout.isatty()


def show_json(value: object, file: TextIO | None = None) -> None:
    """`value` as indented JSON."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str), file=file)


#: The width up to which a column of a table is never folded.
_WHOLE = 10


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, optional: str = "") -> None:
    """A table on the terminal; the column `optional` is left out where the words of all do not fit."""
    console = import_module("rich.console").Console()
    table = _table(title, columns, rows, whole_words=bool(optional))
    if optional and console.measure(table, options=console.options.update(width=_WIDE)).minimum > console.width:
        at = columns.index(optional)
        left, cut = [*columns[:at], *columns[at + 1 :]], [[*row[:at], *row[at + 1 :]] for row in rows]
        table = _table(title, left, cut, whole_words=True)
    console.print(table)


#: More columns than a terminal has.
_WIDE = 1000


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, whole_words: bool) -> Any:
    table = import_module("rich.table").Table(title=title, title_justify="left", box=import_module("rich.box").SIMPLE)
    text = import_module("rich.text").Text
    for number, column in enumerate(columns):  # a name that is folded cannot be copied
        cells = [shown(row[number]) for row in rows]
        width = max(map(len, cells), default=0)
        whole = number == 0 or width <= _WHOLE
        if not whole:
            width = max((len(word) for cell in cells for word in cell.split()), default=0) if whole_words else 0
        table.add_column(column, overflow="fold", no_wrap=whole, min_width=width or None)
    for row in rows:
        table.add_row(*(text(shown(cell)) for cell in row))
    return table


@contextmanager
def ctrl_d_kept() -> Iterator[None]:
    """A Ctrl-D that is typed between two prompts waits for the next one, as other keys do.

    Between prompts the line discipline would take it for the end of a file, and the next prompt would read a NUL.
    """
    if sys.platform == "win32":
        yield
        return
    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)
    *modes, characters = termios.tcgetattr(stdin)
    characters[termios.VEOF] = os.fpathconf(stdin, "PC_VDISABLE")
    termios.tcsetattr(stdin, termios.TCSANOW, [*modes, characters])
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(stdin, termios.TCSANOW, before)
