"""What is checked: small programs, and the Python of the docs and of the examples."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.py)\n")
_TEXT = Path(__file__).with_name("programs.txt")
_PROGRAM = re.compile(r"^=== (\w+)\n(.*?)(?=^=== |\Z)", re.MULTILINE | re.DOTALL)


def programs() -> dict[str, str]:
    found = dict(_PROGRAM.findall(_TEXT.read_text(encoding="utf-8")))
    assert len(found) == _TEXT.read_text(encoding="utf-8").count("\n=== ")
    return found


def modules(page: Path) -> dict[str, str]:
    """The Python of a page: the blocks as one module, at the lines of the page, and each file that it shows."""
    text = page.read_text(encoding="utf-8")
    found: dict[str, str] = {}
    own: list[str] = []
    for block in _BLOCK.finditer(text):
        if file := _FILE.match(block[1]):
            found[re.sub(r"\W", "_", file[1])] = block[1]
            continue
        own += [""] * (text.count("\n", 0, block.start(1)) - len(own)) + block[1].splitlines()
    return found | {"": "\n".join(own) + "\n"} if own else found


def sources() -> dict[str, tuple[str, str]]:
    """Module -> its page or file, and its text."""
    found: dict[str, tuple[str, str]] = {}
    for page in sorted(DOCS.rglob("*.md")):
        place = page.relative_to(DOCS).as_posix()
        name = re.sub(r"\W", "_", place.removesuffix(".md"))
        if "build.py --reference`. -->" not in page.read_text(encoding="utf-8"):
            found |= {f"{name}_{part}".rstrip("_"): (place, text) for part, text in modules(page).items()}
    for file in sorted((DOCS / "examples").rglob("*.py")):
        place = file.relative_to(DOCS).as_posix()
        found[re.sub(r"\W", "_", place)] = (place, file.read_text(encoding="utf-8"))
    return found


#: Program -> its text.
PROGRAMS = programs()
#: Module -> its page or file, and its text.
PAGES = sources()
